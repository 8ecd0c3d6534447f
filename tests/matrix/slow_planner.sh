#!/bin/sh
# A planner whose plan is never done.
exec sleep 600
