#!/bin/sh
# What root does on a machine that cloudcmp launched; sudo lets the user cloudcmp run this, and nothing else.
set -eu
umask 077
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C

KEY=/etc/ssh/ssh_host_ed25519_key
MOUNT=/mnt/cloudcmp

fail() {
	echo "cloudcmp-host: $1" >&2
	exit 1
}

usage() {
	echo "usage: cloudcmp-host rotate | disk DEVICE | ttl SECONDS | die" >&2
	exit 2
}

# A host key that only this machine ever had: the injected one can be read by whoever may describe the machine.
rotate() {
	work=$(mktemp -d /etc/ssh/.cloudcmp.XXXXXX)
	trap 'rm -rf "$work"' EXIT
	ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/key"
	chmod 644 "$work/key.pub"
	mv -f "$work/key.pub" "$KEY.pub"
	mv -f "$work/key" "$KEY"
	# A reload leaves the connections that are open alone. Servers started for each connection read the key anew.
	systemctl reload ssh 2>/dev/null || systemctl reload sshd 2>/dev/null || service ssh reload >/dev/null 2>&1 ||
		service sshd reload >/dev/null 2>&1 || kill -HUP "$(cat /run/sshd.pid)" || fail "the SSH server does not reload"
	forget >/dev/null 2>&1 </dev/null &
	cut -d ' ' -f 1,2 "$KEY.pub"
}

# The copies that cloud-init keeps of the injected key, once its last stage has read them. The provider's own copy
# stays readable: hence the new key.
forget() {
	trap '' HUP
	trap - EXIT
	if command -v cloud-init; then timeout 600 cloud-init status --wait || true; fi
	rm -f /var/lib/cloud/instances/*/obj.pkl /run/cloud-init/combined-cloud-config.json \
		/run/cloud-init/instance-data-sensitive.json
	# Written so that it does not match these very lines, which are among the copies.
	for file in /var/lib/cloud/instances/*/user-data.txt* /var/lib/cloud/instances/*/cloud-config.txt \
		/var/lib/cloud/instances/*/scripts/* /var/lib/cloud/seed/*/user-data /run/cloud-init/cloud.cfg; do
		[ -f "$file" ] || continue
		sed -i -e '/BEGIN OPENSSH PRIVAT[E] KEY.*END OPENSSH PRIVAT[E] KEY/d' \
			-e '/BEGIN OPENSSH PRIVAT[E] KEY/,/END OPENSSH PRIVAT[E] KEY/d' "$file" || rm -f "$file"
	done
}

# An empty disk gets a file system; one that holds anything else than ours is left alone.
disk() {
	case "$1" in
	/dev/*) ;;
	*) fail "$1 is not under /dev" ;;
	esac
	case "$1" in
	*[!A-Za-z0-9/_.:-]* | */../*) fail "that is no name of a device" ;;
	esac
	device=$(readlink -f -- "$1") || fail "$1 is not there"
	[ -b "$device" ] || fail "$1 is not a block device"
	mkdir -p "$MOUNT"
	if grep -q "^$device " /proc/mounts; then
		grep -q "^$device $MOUNT " /proc/mounts || fail "$1 is in use"
	else
		grep -q " $MOUNT " /proc/mounts && fail "another disk is at $MOUNT"
		found=$(blkid -p -o export "$device" 2>/dev/null | grep -E '^(TYPE|PTTYPE)=' || true)
		if [ -z "$found" ]; then
			[ "$(head -c 1048576 "$device" | tr -d '\000' | wc -c)" -eq 0 ] || fail "$1 is not empty"
			# Nothing is left to be written later, while we measure; our files are few and large.
			mkfs.ext4 -q -i 1048576 -E lazy_itable_init=0,lazy_journal_init=0 "$device" || fail "$1 cannot be formatted"
		elif [ "$found" != TYPE=ext4 ]; then
			fail "$1 holds something else"
		fi
		mount -t ext4 -o nosuid,nodev "$device" "$MOUNT" || fail "$1 cannot be mounted"
	fi
	chown cloudcmp "$MOUNT"
	chmod 700 "$MOUNT"
	echo "$MOUNT"
}

# @arm@

ttl() {
	case "$1" in
	'' | *[!0-9]* | 0* | ????????*) fail "SECONDS is a whole number, 1 to 9999999" ;;
	esac
	arm $(($(date +%s) + $1)) "$1"
}

# As if the power went and came: nothing is written back, nothing is told.
die() {
	echo 1 >/proc/sys/kernel/sysrq
	echo b >/proc/sysrq-trigger
}

[ "$(id -u)" -eq 0 ] || fail "only root can do this"
case "${1:-}" in
rotate | die)
	[ $# -eq 1 ] || usage
	"$1"
	;;
disk | ttl)
	[ $# -eq 2 ] || usage
	"$1" "$2"
	;;
*) usage ;;
esac
