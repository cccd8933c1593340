// Keeps what is being tried on a foreign engine as files in ONNX's own layout, so that it can be tried again without this
// program: FOLDER/model.onnx, FOLDER/test_data_set_0/input_N.pb and output_N.pb (what is right), FOLDER/case.txt (precision and
// threads), FOLDER/fault.txt (what was found). The case on hand is FOLDER/running; after a crash it is the one that ended the
// process.
#pragma once

#include <deepgap/model.h>
#include <deepgap/tensor.h>

#include <string>
#include <vector>

namespace deepgap::conformance {

struct KeptCase {
  std::string folder, precision;
  int threads = 1;

  std::string model() const { return folder + "/model.onnx"; }
  std::string input(size_t i) const { return folder + "/test_data_set_0/input_" + std::to_string(i) + ".pb"; }
  std::string output(size_t i) const { return folder + "/test_data_set_0/output_" + std::to_string(i) + ".pb"; }
  std::vector<Tensor> read_inputs() const;
};

// Where cases of this process are kept; empty, as it begins: nothing is.
const std::string& faults_folder();
void set_faults_folder(const std::string& folder);

// Called by the Rig for all that it loads and runs.
void keep_running_model(const Model& model, const std::string& precision, int threads);
void keep_running_inputs(const std::vector<Tensor>& inputs);
std::string running_folder();

// Throws Error{input} where there is none.
KeptCase read_kept_case(const std::string& folder);
// Copies the case on hand to a folder of its own, named for the test, with what is right (where it is known) and what was found.
KeptCase keep_fault(const std::string& test, const std::vector<Tensor>& expected, const std::string& found);

}  // namespace deepgap::conformance
