# Adds the agent to an image, so that each boot leaves one capture.

# nooelint: oelint.vars.mispell.unknown - this class defines it
FIRSTLIGHT_START ?= "system"

IMAGE_INSTALL:append = " firstlight-agent-bin"

# `kernel`: the agent is the first program, and starts the real init itself.
APPEND:append = "${@bb.utils.contains('FIRSTLIGHT_START', 'kernel', ' init=${nonarch_libdir}/firstlight-agent/firstlight-agent firstlight.out=${localstatedir}/lib/firstlight-agent/boot.tar', '', d)}"
