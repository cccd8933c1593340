// The state of its GPUs in which a Point is to be measured (option `power`): `burst`, before they come to their power limit, from a cool
// start; `sustained`, at steady clocks: at the limit, where the load reaches it.
#pragma once

namespace deepgap {

enum class PowerAsked { either, burst, sustained };

}  // namespace deepgap
