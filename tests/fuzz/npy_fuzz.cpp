// .npy files, and tensors of the ONNX test layout (.pb); the first byte says which.
#include "dataset/npy.h"

#include "file_of_bytes.h"
#include "fuzz.h"
#include "model/onnx_reader.h"

using namespace deepgap;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static fuzz::Share share("files accepted");
  static fuzz::FileOfBytes file;
  if (size == 0) return -1;
  const std::string& path = file.hold(data + 1, size - 1);
  share.count(fuzz::accepts([&] {
    if (data[0] % 2 == 0) {
      read_npy(path);
    } else {
      read_named_tensor_proto(path);
    }
  }));
  return 0;
}
