// How the threads of a Network divide the work.
#pragma once

namespace deepgap {

// Either all threads share one layer at a time, or each takes some samples of the batch through all layers. Then no thread waits for
// another before the batch ends, its activations stay in its own cache, and one whose CPU another program takes does fewer samples.
enum class Sharing { automatic, layers, samples };

}  // namespace deepgap
