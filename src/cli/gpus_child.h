// The machine's GPUs, asked in a child process: a driver that hangs must not hang the command. For `devices` and `doctor`.
#pragma once

#include "telemetry/gpus.h"

namespace deepgap {

GpuInventory ask_for_gpus();

}  // namespace deepgap
