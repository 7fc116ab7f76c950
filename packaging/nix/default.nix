# SPDX-License-Identifier: Apache-2.0
# Not built here. nix-build packaging/nix
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "crashhook";
  version = "0.1.0";
  src = ../..;
  nativeBuildInputs = with pkgs; [ cmake ninja pkg-config ];
  buildInputs = with pkgs; [
    curl elfutils jansson libdeflate libiberty libmicrohttpd nettle sqlite xz zlib zstd zydis
  ];
  cmakeFlags = [
    "-DCRASHHOOK_TESTS=OFF"
    "-DCRASHHOOK_EXAMPLES=OFF"
    "-DCRASHHOOK_WERROR=OFF"
    "-DCRASHHOOK_WITH_LIBUNWIND=OFF"
    "-DCRASHHOOK_WITH_MUSL=OFF"
    "-DCRASHHOOK_WITH_POSTGRESQL=OFF"
  ];
  meta.license = pkgs.lib.licenses.asl20;
}
