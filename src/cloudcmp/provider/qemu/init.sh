#!/bin/sh
# The first process of the small image. The death of the machine is armed before anything that could fail.
export PATH=/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin
umask 022
OURS=/etc/cloudcmp
KEPT=/var/lib/cloudcmp  # what outlives a reboot: on the small state disk

say() { echo "cloudcmp: $*" >/dev/console; }
seconds() { cut -d. -f1 /proc/uptime; }
asked() { cat "$OURS/$1" 2>/dev/null; }

# The end is the earlier of the time since this boot and the absolute one: a machine that reboots does not live longer.
arm() {
  left=$(($1 - $(seconds)))
  until_end=$(($2 - $(date +%s)))
  [ "$2" -gt 0 ] && [ "$until_end" -lt "$left" ] && left=$until_end
  [ "$left" -gt 0 ] || left=0
  (
    sleep "$left"
    say "the lease ends"
    poweroff -n -f
    echo o >/proc/sysrq-trigger
  ) &
  echo $! >/run/timer
  say "powers off in $left s"
}

load() {
  for module in $(cat /lib/modules/order); do
    insmod "/lib/modules/$module.ko" || say "module $module was not loaded"
  done
}

# The disk on which the host key of the first login is kept, by the serial that the host gave it.
state_disk() {
  for disk in /sys/block/vd*; do
    [ "$(cat "$disk/serial" 2>/dev/null)" = cloudcmp-state ] && echo "/dev/${disk##*/}"
  done
}

keep() {
  [ -n "$STATE" ] && tar -C $KEPT -cf - . | dd of="$STATE" bs=64k conv=fsync 2>/dev/null
}

network() {
  hostname "$(asked name)"
  echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range  # as on any Debian: everyone may ping
  ip link set lo up
  ip link set eth0 up
  ip addr add 10.0.2.15/24 dev eth0
  ip route add default via 10.0.2.2
  [ -n "$(asked private_address)" ] || return
  ip link set eth1 up
  ip addr add "$(asked private_address)" dev eth1
}

person() {
  mkdir -p /home/cloudcmp/.ssh
  cp $OURS/authorized_keys /home/cloudcmp/.ssh/authorized_keys
  chmod 700 /home/cloudcmp /home/cloudcmp/.ssh
  chmod 600 /home/cloudcmp/.ssh/authorized_keys
  chown -R cloudcmp:cloudcmp /home/cloudcmp
}

host_key() {
  [ -s $KEPT/key ] || dropbearconvert openssh dropbear $OURS/host_key $KEPT/key 2>/dev/console
  rm -f $OURS/host_key
}

# Only the listener goes: those who are logged in stay.
listen() {
  [ -f /run/listener ] && kill "$(cat /run/listener)" && sleep 0.1
  dropbear -s -w -j -k -E -p 22 -r $KEPT/key -P /run/listener 2>/dev/console
}

rotate() {
  rm -f $KEPT/new
  dropbearkey -t ed25519 -f $KEPT/new >/dev/null 2>&1 || return 1
  dropbearkey -y -f $KEPT/new | sed -n 's/^\(ssh-ed25519 [^ ]*\).*/\1/p'
  mv $KEPT/new $KEPT/key
  keep
  listen
}

disk() {
  case "$1" in
    /dev/vd[b-z]) ;;
    *) echo "no disk for test files: $1"; return 1 ;;
  esac
  [ -b "$1" ] && [ "$1" != "$STATE" ] || { echo "$1 is not there"; return 1; }
  if ! grep -q "^$1 /mnt/cloudcmp " /proc/mounts; then
    mkfs.ext4 -q -F "$1" 2>&1 || return 1
    mkdir -p /mnt/cloudcmp
    mount -t ext4 "$1" /mnt/cloudcmp 2>&1 || return 1
    chown cloudcmp:cloudcmp /mnt/cloudcmp
  fi
  echo /mnt/cloudcmp
}

# A new end, so many seconds from now; the absolute end that the host set stays what it is.
ttl() {
  case "$1" in
    '' | *[!0-9]*) echo "not a number of seconds: $1"; return 1 ;;
  esac
  kill "$(cat /run/timer)"
  arm $(($(seconds) + $1)) "$(asked ends_at)"
}

# Moves the wall clock by so many seconds, as a bad time server does; the timer of the lease does not follow it.
clock() {
  case "${1#-}" in
    '' | *[!0-9]*) echo "not a number of seconds: $1"; return 1 ;;
  esac
  date -s "@$(($(date +%s) + $1))" >/dev/null
}

die() {
  (sleep 0.2; echo b >/proc/sysrq-trigger) &
}

# What the unprivileged user may ask for: `number word argument`, one line each; anything else is told to be unknown.
serve() {
  mkfifo -m 620 /run/cloudcmp/ask
  chown root:cloudcmp /run/cloudcmp/ask
  exec 3<>/run/cloudcmp/ask
  while true; do
    read -r number word argument <&3 || continue
    case "$number" in '' | *[!0-9]*) continue ;; esac
    case "$word" in
      rotate | disk | die | ttl | clock) "$word" "$argument" >/run/cloudcmp/draft; code=$? ;;
      *) echo "unknown: $word" >/run/cloudcmp/draft; code=2 ;;
    esac
    echo $code >>/run/cloudcmp/draft
    mv /run/cloudcmp/draft "/run/cloudcmp/answers/$number"
  done
}

mount -t proc proc /proc
mount -t devtmpfs dev /dev
mkdir -p /run/cloudcmp/answers $KEPT
chmod 755 /run/cloudcmp
arm "$(asked ttl_s)" "$(asked ends_at)"
mount -t sysfs sys /sys
if grep -q cloudcmp.probe /proc/cmdline; then
  say "alive"
  poweroff -n -f
fi
mkdir -p /dev/pts /dev/shm
mount -t devpts -o mode=620,ptmxmode=666 pts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
chmod 700 $KEPT
load
STATE=$(state_disk)
[ -n "$STATE" ] && tar -C $KEPT -xf "$STATE" 2>/dev/null
network
person
host_key
keep
listen
say "ssh up $(cut -d' ' -f1 /proc/uptime)"
serve
