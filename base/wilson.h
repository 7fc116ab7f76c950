// SPDX-License-Identifier: Apache-2.0
//
// How far a share that was counted may be from the true one (E. B. Wilson, 1927). The
// interval is meaningful for few hits and for none.
#pragma once

// wilson_interval writes the range that the true share, from 0 to 1, is in with 95 %
// confidence, after hits of count; 0 <= hits <= count, and 0 < count.
void wilson_interval(double hits, double count, double *out_low, double *out_high);
