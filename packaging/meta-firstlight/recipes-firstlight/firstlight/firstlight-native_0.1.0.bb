SUMMARY = "Capture, explain and shorten the boot of a Linux system"
DESCRIPTION = "Firstlight shows where every millisecond of a Linux boot goes, says what \
               to change, changes it, and measures the effect. This recipe builds it for \
               the build host."
# nooelint: oelint.vars.homepageping - linted without a network
HOMEPAGE = "https://github.com/firstlight-boot/firstlight"
BUGTRACKER = "https://github.com/firstlight-boot/firstlight/issues"
SECTION = "devel"
CVE_PRODUCT = "firstlight"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "\
    file://LICENSE-MIT;md5=d59c23e4cdd8db6f41f33655305a88ed \
    file://LICENSE-APACHE;md5=1836efb2eb779966696f473ee8540542 \
"

SRC_URI = "https://github.com/firstlight-boot/firstlight/releases/download/v${PV}/firstlight-${PV}.tar.gz"
SRC_URI[sha256sum] = "@SHA256_SOURCE@"

# From Cargo.lock, by `./x release`.
require firstlight-crates.inc

inherit cargo
inherit_defer native

CARGO_BUILD_FLAGS += "--package firstlight --bin firstlight"

do_install() {
    install -d ${D}${bindir}
    install -m 0755 ${B}/target/${CARGO_TARGET_SUBDIR}/firstlight ${D}${bindir}
}
