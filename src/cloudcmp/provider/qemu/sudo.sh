#!/bin/sh
# The words of a cloud image's sudo. Nobody becomes root here: what needs root asks for it by itself.
[ "$1" = -n ] && shift
exec "$@"
