// SPDX-License-Identifier: Apache-2.0

//go:build !go1.23

package words

func keep(Options) error { return ErrGoIsOlder }
