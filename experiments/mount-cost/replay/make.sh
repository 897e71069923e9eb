#!/bin/sh
# Filesystems that were not unmounted: a guest writes to them, and its power is cut.
#
#   make.sh KERNEL-FOLDER BUSYBOX OUT
#
# KERNEL-FOLDER has boot/vmlinuz-* and lib/modules of Debian's linux-image-amd64, BUSYBOX
# is a static one: both are in the lab's cache (kernel/*, busybox/busybox-amd64). In OUT
# there are then images of xfs, f2fs and btrfs. Needs qemu-system-x86, cpio,
# xfsprogs, f2fs-tools, btrfs-progs.
set -eu
kernel=$1 busybox=$2 out=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
modules=$(echo "$kernel"/lib/modules/*)

# The modules that some need, in the order in which they are loaded.
add() {
    for name in "$@"; do
        path=$(find "$modules" -name "$name.ko" | head -n 1)
        [ -n "$path" ] || continue
        for needed in $(sed -n "s|^${path#"$modules"/}: *||p" "$modules/modules.dep" | tr ' ' '\n' | tac); do
            copy "$modules/$needed"
        done
        copy "$path"
    done
}
copy() {
    grep -qx "$(basename "$1")" "$work/root/order" 2>/dev/null && return
    cp "$1" "$work/root/modules/"
    basename "$1" >>"$work/root/order"
}

# boot IMAGE SCRIPT MODULES: until the guest cuts its own power.
boot() {
    image=$1 script=$2
    shift 2
    rm -rf "$work/root"
    mkdir -p "$work/root/modules" "$work/root/dev" "$work/root/mnt" "$work/root/bin"
    cp "$busybox" "$work/root/bin/busybox"
    chmod 755 "$work/root/bin/busybox"
    add virtio_pci virtio_blk "$@"
    cat >"$work/root/init" <<INIT
#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
while read m; do
    insmod /modules/\$m
done </order
files() { # FROM TO KIB: each file is on the medium when the next one is begun
    i=\$1
    while [ \$i -lt \$2 ]; do
        dd if=/dev/urandom of=/mnt/f\$i bs=1k count=\$3 conv=fsync 2>/dev/null
        i=\$((i + 1))
    done
}
$script
echo CUT
# At once, and nothing is written any more.
echo b >/proc/sysrq-trigger
INIT
    chmod 755 "$work/root/init"
    ln -s busybox "$work/root/bin/sh"
    (cd "$work/root" && find . | cpio -o -H newc --quiet >"$work/initrd")
    qemu-system-x86_64 -M q35 -m 1024 -nographic -no-reboot -net none -icount shift=0 \
        -kernel "$kernel"/boot/vmlinuz-* -initrd "$work/initrd" \
        -append "console=ttyS0 quiet panic=-1" \
        -drive "if=virtio,format=raw,cache=writethrough,file=$image" \
        </dev/null >"$work/console" 2>&1
    grep -q 'CUT' "$work/console" || { cat "$work/console"; exit 1; }
}

size() { rm -f "$1"; truncate -s "$2" "$1"; }

# What its own tests set lets mkfs.xfs make a small one.
size "$out/xfs-short.img" 96M
TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 mkfs.xfs -q -f "$out/xfs-short.img"
boot "$out/xfs-short.img" "mount -t xfs /dev/vda /mnt; files 0 100 16; sync
    files 100 130 4" crc32c_generic xfs

# Others: many small files that nobody waits for, in folders, some renamed and removed.
size "$out/xfs-long.img" 96M
TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 mkfs.xfs -q -f "$out/xfs-long.img"
boot "$out/xfs-long.img" "mount -t xfs /dev/vda /mnt; files 0 40 64; sync
    mkdir /mnt/a /mnt/b; files 40 90 12
    i=0; while [ \$i -lt 400 ]; do
        echo \$i >/mnt/a/n\$i; i=\$((i + 1)); [ \$((i % 50)) = 0 ] && sync
    done
    i=0; while [ \$i -lt 120 ]; do mv /mnt/a/n\$i /mnt/b/m\$i; i=\$((i + 1)); done
    rm /mnt/a/n2??; sync" crc32c_generic xfs

# A log that was full once: it begins again at its start, and a part of what it holds was
# written back.
size "$out/xfs-wrapped.img" 96M
TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 mkfs.xfs -q -f "$out/xfs-wrapped.img"
boot "$out/xfs-wrapped.img" "mount -t xfs /dev/vda /mnt; files 0 1500 4" crc32c_generic xfs

size "$out/f2fs-short.img" 160M
mkfs.f2fs -q -f "$out/f2fs-short.img" >/dev/null
boot "$out/f2fs-short.img" "mount -t f2fs /dev/vda /mnt; files 0 100 16; sync
    files 100 130 4" crc32_generic f2fs

# Its log of files is used for files that were there at the last commit.
size "$out/btrfs-short.img" 160M
mkfs.btrfs -q "$out/btrfs-short.img"
boot "$out/btrfs-short.img" "mount -t btrfs -o commit=900 /dev/vda /mnt; files 0 500 4; sync
    i=0; while [ \$i -lt 30 ]; do
        dd if=/dev/urandom of=/mnt/f\$i bs=1k count=4 conv=notrunc,fsync 2>/dev/null
        i=\$((i + 1))
    done" crc32c_generic blake2b_generic btrfs
ls -l "$out"
