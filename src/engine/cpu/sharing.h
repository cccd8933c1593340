// How the threads of a Network divide the work.
#pragma once

namespace deepgap {

// What the threads do at a time: all of them one layer, or each some samples of the batch through all layers. Then no thread waits for
// another before the batch ends, its activations stay in its own cache, and one whose CPU another program takes does fewer samples.
enum class Sharing { automatic, layers, samples };

}  // namespace deepgap
