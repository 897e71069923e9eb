#!/bin/bash
# Puts the agent into the initramfs, for rdinit=/sbin/firstlight-agent.

check() {
    return 0
}

depends() {
    return 0
}

install() {
    inst_simple /usr/lib/firstlight-agent/firstlight-agent /sbin/firstlight-agent
}
