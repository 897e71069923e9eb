# nooelint: oelint.var.bbclassextend - the agent runs on a target only
SUMMARY = "Firstlight agent: captures the boot on the target"
DESCRIPTION = "One static program that saves each boot of the target as one file, \
               which firstlight explains on a host. It runs at the end of the boot, or \
               as init= from the first instant of userspace."
# nooelint: oelint.vars.homepageping - linted without a network
HOMEPAGE = "https://github.com/firstlight-boot/firstlight"
BUGTRACKER = "https://github.com/firstlight-boot/firstlight/issues"
SECTION = "devel"
CVE_PRODUCT = "firstlight"
LICENSE = "MIT | Apache-2.0"
# nooelint: oelint.var.licenseremotefile - the program comes without its source
LIC_FILES_CHKSUM = "file://${COREBASE}/meta/files/common-licenses/MIT;md5=0835ade698e0bcf8506ecda2f7b4f302"

FIRSTLIGHT_ARCH = "unsupported"
FIRSTLIGHT_ARCH:x86-64 = "x86_64"
FIRSTLIGHT_ARCH:aarch64 = "aarch64"
FIRSTLIGHT_ARCH:armv7a = "armv7"
FIRSTLIGHT_ARCH:armv7ve = "armv7"
FIRSTLIGHT_ARCH:armv5 = "armv5"
FIRSTLIGHT_ARCH:riscv64 = "riscv64"

# nooelint: oelint.vars.srcurichecksum - one checksum for each processor, below
SRC_URI = "\
    https://github.com/firstlight-boot/firstlight/releases/download/v${PV}/firstlight-agent-${FIRSTLIGHT_ARCH};name=${FIRSTLIGHT_ARCH} \
    file://collect \
    file://firstlight-agent.service \
    file://S99firstlight-agent \
"
SRC_URI[x86_64.sha256sum] = "@SHA256_AGENT_X86_64@"
SRC_URI[aarch64.sha256sum] = "@SHA256_AGENT_AARCH64@"
SRC_URI[armv7.sha256sum] = "@SHA256_AGENT_ARMV7@"
SRC_URI[armv5.sha256sum] = "@SHA256_AGENT_ARMV5@"
SRC_URI[riscv64.sha256sum] = "@SHA256_AGENT_RISCV64@"

# Releases of Yocto before styhead have no UNPACKDIR.
S = "${@d.getVar('UNPACKDIR') or d.getVar('WORKDIR')}"

inherit systemd update-rc.d

COMPATIBLE_HOST = "(x86_64|aarch64|arm|riscv64).*-linux"

SYSTEMD_SERVICE:${PN} = "firstlight-agent.service"
INITSCRIPT_NAME = "firstlight-agent"
INITSCRIPT_PARAMS = "start 99 2 3 4 5 ."

do_configure[noexec] = "1"
do_compile[noexec] = "1"

do_install() {
    install -d ${D}${nonarch_libdir}/firstlight-agent
    install -m 0755 ${S}/firstlight-agent-${FIRSTLIGHT_ARCH} \
        ${D}${nonarch_libdir}/firstlight-agent/firstlight-agent
    install -m 0755 ${S}/collect ${D}${nonarch_libdir}/firstlight-agent/collect
    install -d ${D}${systemd_system_unitdir}
    install -m 0644 ${S}/firstlight-agent.service ${D}${systemd_system_unitdir}
    install -d ${D}${sysconfdir}/init.d
    install -m 0755 ${S}/S99firstlight-agent ${D}${sysconfdir}/init.d/firstlight-agent
}

FILES:${PN} += "${nonarch_libdir}/firstlight-agent ${systemd_system_unitdir}"

# Static and stripped.
INHIBIT_PACKAGE_STRIP = "1"
INHIBIT_PACKAGE_DEBUG_SPLIT = "1"
# nooelint: oelint.vars.insaneskip - the release is stripped, and built elsewhere
INSANE_SKIP:${PN} = "already-stripped arch"
