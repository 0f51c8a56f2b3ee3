# arm END MOST: power off at END (Unix seconds), in MOST seconds at the latest; counted from the first boot, whatever
# boots later. A clock that is set wrong can only make it sooner.
arm() {
	mkdir -p /var/lib/cloudcmp
	echo "$1" >/var/lib/cloudcmp/end.new
	mv -f /var/lib/cloudcmp/end.new /var/lib/cloudcmp/end
	left=$(($1 - $(date +%s)))
	[ "$left" -le "$2" ] || left=$2
	[ "$left" -ge 1 ] || left=1
	systemctl stop cloudcmp-ttl.timer 2>/dev/null || true
	if [ -f /run/cloudcmp-ttl.pid ]; then kill "$(cat /run/cloudcmp-ttl.pid)" 2>/dev/null || true; fi
	rm -f /run/cloudcmp-ttl.pid
	# Without the default dependencies it neither waits for a boot that hangs nor goes with a shutdown that does.
	systemd-run --quiet --no-block --collect --unit=cloudcmp-ttl --on-active="$left" \
		--timer-property=AccuracySec=1s --timer-property=DefaultDependencies=no --property=DefaultDependencies=no \
		sh -c 'systemctl --no-block poweroff; sleep 30; poweroff -f' 2>/dev/null && return
	nohup sh -c "sleep $left; poweroff & sleep 30; poweroff -f" >/dev/null 2>&1 </dev/null &
	echo $! >/run/cloudcmp-ttl.pid
}
