#include "kept_case.h"

#include "base/file.h"
#include "base/text.h"
#include "model/onnx_reader.h"
#include "model/onnx_writer.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

namespace deepgap::conformance {
namespace {

namespace fs = std::filesystem;

std::string kept_in;

// Letters, digits and '_'.
std::string as_file_name(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

}  // namespace

const std::string& faults_folder() { return kept_in; }
void set_faults_folder(const std::string& folder) { kept_in = folder; }
std::string running_folder() { return kept_in + "/running"; }

std::vector<Tensor> KeptCase::read_inputs() const {
  std::vector<Tensor> inputs;
  for (size_t i = 0; fs::exists(input(i)); ++i) inputs.push_back(read_tensor_proto(input(i)));
  return inputs;
}

void keep_running_model(const Model& model, const std::string& precision, int threads) {
  if (kept_in.empty()) return;
  const KeptCase running{running_folder(), precision, threads};
  fs::remove_all(running.folder);
  make_directories(running.folder + "/test_data_set_0");
  const auto bytes = model.onnx();
  std::ofstream(running.model(), std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::ofstream(running.folder + "/case.txt") << precision << ' ' << threads << '\n';
}

void keep_running_inputs(const std::vector<Tensor>& inputs) {
  if (kept_in.empty()) return;
  static std::mutex one_at_a_time;  // two sessions may run at once, and the files have the same names
  const std::lock_guard lock(one_at_a_time);
  const KeptCase running{running_folder(), {}, 1};
  for (size_t i = 0; i < inputs.size(); ++i) write_tensor_proto(running.input(i), inputs[i], fmt::format("input_{}", i));
}

KeptCase read_kept_case(const std::string& folder) {
  KeptCase kept{folder, {}, 0};
  std::istringstream words(read_text(folder + "/case.txt"));
  words >> kept.precision >> kept.threads;
  if (kept.threads < 1) throw Error(ErrorKind::input, fmt::format("{}/case.txt: expected a precision and a number of threads", folder));
  return kept;
}

KeptCase keep_fault(const std::string& test, const std::vector<Tensor>& expected, const std::string& found) {
  const std::string name = fmt::format("{}/{}", kept_in, as_file_name(test));
  std::string folder = name;
  for (int next = 2; fs::exists(folder); ++next) folder = fmt::format("{}_{}", name, next);
  fs::copy(running_folder(), folder, fs::copy_options::recursive);
  const KeptCase kept = read_kept_case(folder);
  for (size_t i = 0; i < expected.size(); ++i) write_tensor_proto(kept.output(i), expected[i], fmt::format("output_{}", i));
  std::ofstream(folder + "/fault.txt") << found << '\n';
  return kept;
}

}  // namespace deepgap::conformance
