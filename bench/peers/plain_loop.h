// The parts that the plain loops of this folder share: arguments, and the loop itself. A plain loop is what a user of an engine's own
// interface would write: load, allocate once, run again and again on the same input, as fast as it goes.
//     peer_ENGINE FILE.onnx THREADS BATCH SECONDS
// prints items a second.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace deepgap::peers {

struct Arguments {
  std::string file;
  int threads = 1;
  long batch = 1;
  double seconds = 1;
};

inline Arguments parse(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s FILE.onnx THREADS BATCH SECONDS\n", argv[0]);
    std::exit(2);
  }
  return {argv[1], std::atoi(argv[2]), std::atol(argv[3]), std::atof(argv[4])};
}

// A fifth of the time to warm up, the rest measured.
inline void run(const Arguments& arguments, const std::function<void()>& once) {
  using Clock = std::chrono::steady_clock;
  const auto for_seconds = [&](double seconds) {
    const auto begin = Clock::now();
    long runs = 0;
    double passed = 0;
    do {
      once();
      ++runs;
      passed = std::chrono::duration<double>(Clock::now() - begin).count();
    } while (passed < seconds);
    return static_cast<double>(runs) / passed;
  };
  for_seconds(arguments.seconds / 5);
  std::printf("%.4f\n", for_seconds(arguments.seconds) * static_cast<double>(arguments.batch));
}

}  // namespace deepgap::peers
