// Where the all-to-all planners look for it.
#pragma once

#include "planner/deadline.h"
