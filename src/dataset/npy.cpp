#include "dataset/npy.h"

#include "base/file.h"
#include "base/text.h"
#include "base/words.h"
#include "dataset/kinds.h"
#include "dataset/tensors_dataset.h"
#include "model/eval/element_types.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

namespace deepgap {
namespace {

[[noreturn]] void fail(const std::string& path, std::string_view cause) {
  throw Error(ErrorKind::input, fmt::format("cannot read {}: {}", path, one_line(std::string(cause))));  // it may quote the header
}

// NumPy itself reads no longer header than this unless a caller raises the limit.
constexpr uint32_t longest_header = 10'000;

// The header is a Python dict literal; NumPy writes exactly these three keys. What stands behind `key` between the two marks.
std::string header_field(const std::string& path, const std::string& header, const std::string& key, char open, char close) {
  const size_t named = header.find(key);
  const size_t begin = named == std::string::npos ? named : header.find_first_not_of(' ', named + key.size());
  const size_t end = begin == std::string::npos || header[begin] != open ? std::string::npos : header.find(close, begin + 1);
  if (end == std::string::npos) fail(path, "its header is not NumPy's");
  return header.substr(begin + 1, end - begin - 1);
}

const std::map<std::string, DataType>& types() {
  static const std::map<std::string, DataType> types{{"<f4", DataType::f32}, {"<f8", DataType::f64}, {"<f2", DataType::f16},
                                                     {"|i1", DataType::i8},  {"<i2", DataType::i16}, {"<i4", DataType::i32},
                                                     {"<i8", DataType::i64}, {"|u1", DataType::u8},  {"<u2", DataType::u16},
                                                     {"<u4", DataType::u32}, {"<u8", DataType::u64}, {"|b1", DataType::boolean}};
  return types;
}

DataType type_of(const std::string& path, const std::string& descr) {
  const auto found = types().find(descr);
  if (found == types().end()) fail(path, fmt::format("element type '{}' is not supported; save it little-endian as float32", descr));
  return found->second;
}

Shape shape_of(const std::string& path, const std::string& tuple) {
  Shape shape;
  uint64_t product = 1;
  for (const std::string& part : split(tuple, ',')) {
    if (trim(part).empty()) continue;
    const auto size = parse_int(trim(part));
    if (!size || *size < 0 || __builtin_mul_overflow(product, static_cast<uint64_t>(*size), &product) || product > (uint64_t{1} << 40)) {
      fail(path, fmt::format("shape ({}) is not usable", tuple));
    }
    shape.push_back(*size);
  }
  return shape;
}

struct Header {
  std::string text;
  size_t data_offset = 0;
};

Header read_header(const std::string& path, std::span<const std::byte> bytes) {
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0) fail(path, "it is not a .npy file");
  const bool wide = std::to_integer<int>(bytes[6]) >= 2;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, wide ? 4 : 2);
  const size_t begin = wide ? 12 : 10;
  if (length > bytes.size() - begin || length > longest_header) fail(path, "its header is truncated or too long");
  return {std::string(reinterpret_cast<const char*>(bytes.data()) + begin, length), begin + length};
}

// The content of a .npy file, before its data are copied.
struct Array {
  DataType type = DataType::f32;
  Shape shape;
  MappedFile file;
  size_t data_offset = 0;
  const std::byte* data() const { return file.data.get() + data_offset; }
};

Array open_npy(const std::string& path) {
  Array array;
  array.file = map_file(path);
  const Header header = read_header(path, array.file.bytes());
  array.data_offset = header.data_offset;
  if (trim(header_field(path, header.text + ",", "'fortran_order'", ':', ',')) != "False")
    fail(path, "it is in Fortran order; save it in C order");
  array.type = type_of(path, header_field(path, header.text, "'descr':", '\'', '\''));
  array.shape = shape_of(path, header_field(path, header.text, "'shape':", '(', ')'));
  const size_t present = array.file.size - header.data_offset, asked = TensorView{array.type, array.shape, nullptr}.bytes();
  if (present != asked) fail(path, fmt::format("it holds {} bytes of data, its shape asks {}", present, asked));
  return array;
}

// Each file is one sample, whose leading batch dimension of 1 may be left out. One file alone may hold more: then its first dimension
// counts them.
class NpyDataset : public TensorsDataset {
 public:
  NpyDataset(const DatasetRequest& request, std::vector<std::string> paths) : paths_(std::move(paths)) {
    if (request.inputs.size() != 1) throw Error(ErrorKind::usage, ".npy samples need a model with one input");
    input_ = request.inputs[0];
    shape_ = sample_shapes(request.inputs).front();
    if (paths_.size() == 1) take_stack();
  }
  std::string describe() const override {
    return (stack_ ? fmt::format("{} samples of a .npy file", size()) : fmt::format("{} .npy files", size())) + label_note();
  }
  size_t size() const override { return stack_ ? static_cast<size_t>(stack_->shape.front()) : paths_.size(); }
  std::string sample_name(uint32_t index) const override {
    const std::string name = std::filesystem::path(paths_[stack_ ? 0 : index]).filename().string();
    return stack_ ? fmt::format("{}[{}]", name, index) : name;
  }

 protected:
  std::vector<Tensor> make(uint32_t index) override {
    if (stack_) {
      Tensor item = make_tensor(input_.type, shape_);
      std::memcpy(writable<std::byte>(item).data(), stack_->data() + index * item.bytes(), item.bytes());
      return {item};
    }
    Tensor tensor = read_npy(paths_[index]);
    if (tensor.type != input_.type || (tensor.shape != shape_ && tensor.shape != without_batch())) {
      fail(paths_[index], fmt::format("it holds {} {}, input '{}' takes {} {}", name_of(tensor.type), shape_text(tensor.shape), input_.name,
                                      name_of(input_.type), shape_text(shape_)));
    }
    tensor.shape = shape_;
    return {tensor};
  }

 private:
  Shape without_batch() const { return {shape_.begin() + (shape_.empty() ? 0 : 1), shape_.end()}; }
  // Several samples, each without its batch dimension. Any other array is left to make(), which says what is wrong with it.
  void take_stack() {
    Array array = open_npy(paths_[0]);
    if (array.type != input_.type || array.shape.empty() || array.shape == shape_ || array.shape == without_batch()) return;
    const bool stacked = !shape_.empty() && array.shape.front() > 0 && Shape(array.shape.begin() + 1, array.shape.end()) == without_batch();
    if (stacked && shape_.front() == 1) stack_ = std::move(array);
  }

  std::vector<std::string> paths_;
  TensorInfo input_;
  Shape shape_;
  std::optional<Array> stack_;
};

}  // namespace

Tensor read_npy(const std::string& path) {
  const Array array = open_npy(path);
  Tensor tensor = make_tensor(array.type, array.shape);
  std::memcpy(writable<std::byte>(tensor).data(), array.data(), tensor.bytes());
  return tensor;
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const Tensor known = tensor.type == DataType::bf16 ? converted(tensor, DataType::f32) : tensor;
  const auto type = std::find_if(types().begin(), types().end(), [&](const auto& entry) { return entry.second == known.type; });
  if (type == types().end())
    throw Error(ErrorKind::input, fmt::format("cannot write {}: .npy files have no {} elements", path, name_of(known.type)));
  std::string shape;
  for (const int64_t size : known.shape) shape += fmt::format("{}, ", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type->first, shape);
  constexpr size_t preamble = 10, alignment = 64;
  header.resize((preamble + header.size() + 1 + alignment - 1) / alignment * alignment - preamble - 1, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string content("\x93NUMPY\x01\x00", 8);
  content.append(reinterpret_cast<const char*>(&length), sizeof length).append(header);
  content.append(reinterpret_cast<const char*>(known.data.get()), known.bytes());
  write_file_atomic(path, content);
}

std::unique_ptr<TensorsDataset> make_npy_dataset(const DatasetRequest& request, std::vector<std::string> paths) {
  return std::make_unique<NpyDataset>(request, std::move(paths));
}

}  // namespace deepgap
