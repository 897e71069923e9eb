# What the scripts share that make a root from the minimal Debian, for `.`: they open a copy of
# its image, change what lies below $at, and close it.
PATH=$PATH:/usr/sbin:/sbin

# open_root FROM TO SIZE: a copy of the image FROM, of SIZE as truncate takes it, mounted at $at.
open_root() {
    to=$2
    cp --sparse=always "$1" "$to.new"
    truncate -s "$3" "$to.new"
    e2fsck -fp "$to.new" >/dev/null || [ $? -eq 1 ]
    resize2fs "$to.new" >/dev/null 2>&1
    at=$(mktemp -d)
    trap 'umount -R "$at"; rmdir "$at"' EXIT
    mount -o loop "$to.new" "$at"
}

# add_packages NAME...: fetched by this machine, with the root's own list of what it has.
add_packages() {
    lists=$(mktemp -d)
    mkdir -p "$lists/archives/partial"
    chmod 755 "$lists"
    apt-get install --yes --quiet --no-install-recommends --download-only \
        -o Dir::State::status="$at/var/lib/dpkg/status" \
        -o Dir::Cache::archives="$lists/archives" \
        "$@" >/dev/null
    mkdir "$at/packages"
    cp "$lists"/archives/*.deb "$at/packages/"
    rm -r "$lists"
    # A package that has to be configured before another is unpacked makes a second round.
    DEBIAN_FRONTEND=noninteractive chroot "$at" sh -c \
        'for round in 1 2 3; do
            dpkg --unpack /packages/*.deb && break
            dpkg --configure -a
        done
        dpkg --configure -a' >/dev/null 2>&1
    rm -r "$at/packages"
}

# run_once COMMAND...: as root, with /proc and /dev: a profile of the user is there then, as
# after the first start ever.
run_once() {
    mount -t proc proc "$at/proc"
    mount -t devtmpfs dev "$at/dev"
    chroot "$at" env HOME=/root "$@" >/dev/null 2>&1
    umount "$at/proc" "$at/dev"
}

# add_unit NAME DESCRIPTION MORE COMMAND [SERVICE]: a service of multi-user.target; MORE are lines
# of [Unit], SERVICE those of [Service].
add_unit() {
    units=usr/lib/systemd/system
    wants=$at/etc/systemd/system/multi-user.target.wants
    mkdir -p "$wants"
    cat >"$at/$units/$1.service" <<END
[Unit]
Description=$2
$3
[Service]
Type=oneshot
RemainAfterExit=yes
Environment=HOME=/root
ExecStart=$4${5:+
$5}
[Install]
WantedBy=multi-user.target
END
    ln -sf "/$units/$1.service" "$wants/$1.service"
}

close_root() {
    umount "$at"
    rmdir "$at"
    trap - EXIT
    mv "$to.new" "$to"
}
