// Where the engine's tests look for it; the passes' tests share it.
#pragma once

#include "engine/passes/test_graphs.h"
