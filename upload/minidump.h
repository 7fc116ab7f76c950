// SPDX-License-Identifier: Apache-2.0
//
// A server that takes minidumps as the uploaders of Breakpad and Crashpad send them:
// POST of multipart/form-data to the address itself, with the file in
// upload_file_minidump and the annotations as other fields. Row of protocol.c.
#pragma once
#include "upload/shipment.h"
#include "upload/target.h"

void minidump_send(const struct target *target, const struct shipment *shipment,
                   struct verdict *out);
void minidump_ask(const struct target *target, const struct shipment *shipment,
                  struct shipment_question *out);
