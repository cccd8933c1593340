// The engine's tests look for it here; the passes' tests share it.
#pragma once

#include "engine/passes/test_graphs.h"
