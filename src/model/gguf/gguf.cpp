#include "model/gguf/gguf.h"

#include "base/confine.h"
#include "base/file_kind.h"
#include "base/words.h"
#include "model/checked.h"

#include <deepgap/error.h>

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

namespace deepgap {
namespace {

constexpr int64_t most_elements = int64_t{1} << 40;
constexpr size_t most_dimensions = 4;
constexpr uint64_t most_alignment = 1 << 20;

// The kinds of metadata values, by GGUF's numbers.
struct Kind {
  enum Number : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };
};

size_t bytes_of_kind(uint32_t kind) {
  constexpr std::array<size_t, 13> bytes{1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // for a text or an array: the minimum
  return kind < bytes.size() ? bytes[kind] : 0;
}

class Reader {
 public:
  Reader(const MappedFile& file, const std::string& path) : file_(file) { result_.path = path; }

  GgufFile read() {
    const uint64_t tensors = read_header();
    read_tensors(tensors);
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& cause) const { result_.fail(cause); }
  size_t left() const { return file_.size - at_; }

  template <typename T>
  T number(const char* of) {
    if (left() < sizeof(T)) fail(fmt::format("the file ends in the middle of {}: it may be cut off", of));
    T value;
    std::memcpy(&value, file_.data.get() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  std::string string(const char* of) {
    const auto length = number<uint64_t>(of);
    if (length > left()) fail(fmt::format("the file ends in the middle of {}: it may be cut off", of));
    std::string value(reinterpret_cast<const char*>(file_.data.get() + at_), length);
    at_ += length;
    return value;
  }

  int64_t from_unsigned(uint64_t value) const {
    if (value > static_cast<uint64_t>(INT64_MAX)) fail(fmt::format("a number of its metadata is too large: {}", value));
    return static_cast<int64_t>(value);
  }

  int64_t integer(uint32_t kind) {
    const char* of = "its metadata";
    switch (kind) {
      case Kind::u8:
        return number<uint8_t>(of);
      case Kind::i8:
        return number<int8_t>(of);
      case Kind::u16:
        return number<uint16_t>(of);
      case Kind::i16:
        return number<int16_t>(of);
      case Kind::u32:
        return number<uint32_t>(of);
      case Kind::i32:
        return number<int32_t>(of);
      case Kind::boolean:
        return number<uint8_t>(of) != 0 ? 1 : 0;
      case Kind::u64:
        return from_unsigned(number<uint64_t>(of));
      default:
        return number<int64_t>(of);
    }
  }

  double real(uint32_t kind) { return kind == Kind::f32 ? number<float>("its metadata") : number<double>("its metadata"); }

  template <typename T, typename Next>
  std::vector<T> list(uint64_t count, Next next) {
    std::vector<T> values;
    values.reserve(count);  // at most as many as the file has bytes
    for (uint64_t i = 0; i < count; ++i) values.push_back(next());
    return values;
  }

  GgufValue read_array(const std::string& key) {
    const auto kind = number<uint32_t>("its metadata");
    const auto count = number<uint64_t>("its metadata");
    const uint64_t each = bytes_of_kind(kind);
    if (each == 0 || kind == Kind::array) fail(fmt::format("the list '{}' has elements of an unknown kind, {}", key, kind));
    if (count > left() / each) fail(fmt::format("the list '{}' has {} elements: the file is too short for them", key, count));
    if (kind == Kind::text) return list<std::string>(count, [this] { return string("its metadata"); });
    if (kind == Kind::f32 || kind == Kind::f64) return list<double>(count, [this, kind] { return real(kind); });
    return list<int64_t>(count, [this, kind] { return integer(kind); });
  }

  GgufValue read_value(const std::string& key) {
    const auto kind = number<uint32_t>("its metadata");
    if (bytes_of_kind(kind) == 0) fail(fmt::format("the metadata '{}' is of an unknown kind, {}", key, kind));
    if (kind == Kind::text) return string("its metadata");
    if (kind == Kind::array) return read_array(key);
    if (kind == Kind::f32 || kind == Kind::f64) return real(kind);
    const int64_t value = integer(kind);
    if (kind == Kind::boolean) return value != 0;
    return value;
  }

  // Returns the number of tensors.
  uint64_t read_header() {
    if (const std::string kind = not_gguf_kind(file_.bytes()); !kind.empty()) fail("it " + kind);
    at_ = 4;
    const auto version = number<uint32_t>("its header");
    if ((version & 0xffff) == 0 && version != 0) fail("it is a GGUF file of a big-endian machine: convert it to little endian");
    if (version != 2 && version != 3) fail(fmt::format("its GGUF version is {}: deepgap reads versions 2 and 3", version));
    const auto tensors = number<uint64_t>("its header"), values = number<uint64_t>("its header");
    constexpr uint64_t least_tensor = 8 + 4 + 4 + 8, least_value = 8 + 4 + 1;
    if (tensors > left() / least_tensor || values > left() / least_value)
      fail(fmt::format("it declares {} tensors and {} values of metadata: the file is too short for them", tensors, values));
    for (uint64_t i = 0; i < values; ++i) {
      std::string key = string("its metadata");
      GgufValue value = read_value(key);
      if (!result_.metadata.emplace(key, std::move(value)).second) fail(fmt::format("the metadata '{}' is there twice", key));
    }
    return tensors;
  }

  struct Place {
    GgufTensor* tensor;
    const std::string* name;
    uint64_t offset;
  };

  Place read_tensor_info() {
    const std::string name = string("its list of tensors");
    GgufTensor tensor;
    const auto dimensions = number<uint32_t>("its list of tensors");
    if (dimensions > most_dimensions)
      fail(fmt::format("tensor '{}' has {} dimensions, at most {} are allowed", name, dimensions, most_dimensions));
    for (uint32_t i = 0; i < dimensions; ++i) {
      const auto size = number<uint64_t>("its list of tensors");
      if (size > static_cast<uint64_t>(most_elements)) fail(fmt::format("tensor '{}' has an invalid size, {}", name, size));
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(size));
    }
    tensor.type_number = number<uint32_t>("its list of tensors");
    const auto offset = number<uint64_t>("its list of tensors");
    tensor.bytes = bytes_of(name, tensor);
    const auto [place, is_new] = result_.tensors.emplace(name, std::move(tensor));
    if (!is_new) fail(fmt::format("tensor '{}' is there twice", name));
    return {&place->second, &place->first, offset};
  }

  int64_t bytes_of(const std::string& name, const GgufTensor& tensor) const {
    const auto elements = checked_elements(tensor.shape, most_elements);
    if (!elements) fail(fmt::format("tensor '{}' has an invalid size", name));
    const WeightFormat* format = find_weight_format(tensor.type_number);
    if (format == nullptr) return 0;
    const int64_t columns = tensor.shape.empty() ? 1 : tensor.shape.back();
    if (columns % format->block != 0)
      fail(fmt::format("tensor '{}': rows of {} numbers are not whole blocks of {} ({})", name, columns, format->block, format->name));
    return *elements / format->block * format->block_bytes;
  }

  uint64_t alignment() const {
    if (!result_.metadata.contains("general.alignment")) return 32;
    const int64_t* given = result_.find<int64_t>("general.alignment");
    if (given == nullptr || *given < 1 || static_cast<uint64_t>(*given) > most_alignment ||
        !std::has_single_bit(static_cast<uint64_t>(*given)))
      fail("its general.alignment is not a power of two up to 1048576");
    return static_cast<uint64_t>(*given);
  }

  void read_tensors(uint64_t count) {
    std::vector<Place> places;
    for (uint64_t i = 0; i < count; ++i) places.push_back(read_tensor_info());
    const uint64_t align = alignment(), begin = (at_ + align - 1) / align * align;
    for (const Place& place : places) {
      if (place.offset % align != 0) fail(fmt::format("tensor '{}' does not begin at a multiple of {} bytes", *place.name, align));
      const auto bytes = static_cast<uint64_t>(place.tensor->bytes);
      if (begin > file_.size || place.offset > file_.size - begin || bytes > file_.size - begin - place.offset)
        fail(fmt::format("tensor '{}' lies outside of the file, which may be cut off", *place.name));
      place.tensor->data = std::shared_ptr<const std::byte>(file_.data, file_.data.get() + begin + place.offset);
    }
  }

  const MappedFile& file_;
  size_t at_ = 0;
  GgufFile result_;
};

}  // namespace

void GgufFile::fail(const std::string& cause) const { throw Error(ErrorKind::input, fmt::format("{}: {}", path, one_line(cause))); }

bool is_gguf_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  char mark[4] = {};
  return file.read(mark, sizeof mark) && std::memcmp(mark, "GGUF", sizeof mark) == 0;
}

GgufFile parse_gguf(const MappedFile& file, const std::string& path) {
  try {
    return Reader(file, path).read();
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::input, fmt::format("{}: it needs {}", path, too_much_memory()));
  }
}

GgufFile read_gguf(const std::string& path) { return parse_gguf(map_file(path), path); }

}  // namespace deepgap
