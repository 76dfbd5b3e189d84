#!/bin/sh
# Boots the systemd of a root file system, in namespaces of its own: no other process, mount or network of this
# machine is in them. It runs until its parent kills it.
#
#   package/boot.sh ROOT
#
# Needs root and cgroups of version 2, also beside those of version 1.
set -eu
root=$1
inside() {
    mount --bind "$1" "$1"
    cd "$1"
    mount -t proc proc proc
    mount -t sysfs -o ro sysfs sys
    mount -t cgroup2 cgroup2 sys/fs/cgroup
    mount -t tmpfs -o mode=755 tmpfs dev
    for device in null zero full random urandom tty; do
        touch "dev/$device"
        mount --bind "/dev/$device" "dev/$device"
    done
    mkdir dev/pts dev/shm
    mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
    mount -t tmpfs tmpfs dev/shm
    ln -s pts/ptmx dev/ptmx
    ln -s /proc/self/fd dev/fd
    mount -t tmpfs -o mode=755 tmpfs run
    mkdir -p .machine
    pivot_root . .machine
    umount -l /.machine
    # It then leaves alone what belongs to the machine.
    exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=console \
        --show-status=no
}
if [ "${2:-}" = inside ]; then inside "$root"; fi

hierarchy=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -n "$hierarchy" ] || {
    echo 'This machine has no cgroups of version 2, without which systemd does not start in a namespace.' >&2
    exit 1
}
group=$hierarchy$(sed -n 's/^0:://p' /proc/self/cgroup)/autonous-package-$$
mkdir "$group"
echo $$ >"$group/cgroup.procs"

# Nothing of these may reach the machine: kernel settings, modules, devices, further file systems.
for unit in systemd-sysctl.service systemd-modules-load.service systemd-udevd.service systemd-udev-trigger.service \
    systemd-remount-fs.service systemd-random-seed.service systemd-binfmt.service systemd-timesyncd.service \
    systemd-networkd.service systemd-logind.service console-getty.service getty@tty1.service \
    sys-kernel-config.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-fs-fuse-connections.mount \
    dev-hugepages.mount dev-mqueue.mount proc-sys-fs-binfmt_misc.mount proc-sys-fs-binfmt_misc.automount; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
done

exec unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup "$0" "$root" inside
