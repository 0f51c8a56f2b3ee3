#!/bin/sh
# What may be asked of the machine without being root: rotate, disk DEVICE, die, ttl SECONDS, clock SECONDS.
ASK=/run/cloudcmp/ask
number="$$$(date +%s)"
answer="/run/cloudcmp/answers/$number"
echo "$number $1 $2" >$ASK || exit 1
tries=0
until [ -f "$answer" ]; do
  tries=$((tries + 1))
  [ $tries -gt 600 ] && { echo "no answer within 60 s" >&2; exit 1; }
  sleep 0.1
done
sed '$d' "$answer"
exit "$(tail -n 1 "$answer")"
