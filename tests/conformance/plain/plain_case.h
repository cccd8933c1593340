// A case that the conformance suite kept (kept_case.h of the suite), for the programs that run it by an engine's own interface:
//   deepgap_plain_ENGINE FOLDER PRECISION THREADS
// answers FOLDER/test_data_set_0/input_N.pb in FOLDER/plain_N.pb. Exit code 0; 3 when the engine itself fails, with its words; 2 when this
// program could not ask it.
#pragma once

#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

#include <deepgap/error.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace deepgap::conformance {

struct PlainCase {
  std::string folder, precision;
  int threads = 1;
  std::vector<Tensor> inputs;

  std::string model() const { return folder + "/model.onnx"; }
};

// The engine's failure.
struct EngineFailure {
  std::string words;
};

inline PlainCase read_plain_case(int argc, char** argv) {
  if (argc != 4) throw Error(ErrorKind::usage, "expected FOLDER PRECISION THREADS");
  PlainCase given{argv[1], argv[2], std::atoi(argv[3]), {}};
  const auto input = [&](size_t i) { return given.folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb"; };
  for (size_t i = 0; std::filesystem::exists(input(i)); ++i) given.inputs.push_back(read_tensor_proto(input(i)));
  return given;
}

// main() of such a program: `answer` asks the engine.
inline int run_plain_case(int argc, char** argv, const std::function<std::vector<Tensor>(const PlainCase&)>& answer) {
  try {
    const PlainCase given = read_plain_case(argc, argv);
    const std::vector<Tensor> outputs = answer(given);
    for (size_t i = 0; i < outputs.size(); ++i)
      write_tensor_proto(given.folder + "/plain_" + std::to_string(i) + ".pb", outputs[i], "output_" + std::to_string(i));
    return 0;
  } catch (const EngineFailure& failure) {
    std::fprintf(stderr, "%s\n", failure.words.c_str());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cannot ask the engine: %s\n", error.what());
    return 2;
  }
}

}  // namespace deepgap::conformance
