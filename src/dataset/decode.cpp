#include "base/file.h"
#include "dataset/picture.h"

#include <deepgap/error.h>

#include <fmt/format.h>
#include <spng.h>
#include <turbojpeg.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>

namespace deepgap {
namespace {

constexpr uint64_t max_pixels = 100'000'000;
constexpr uint64_t max_scanned_pixels = 20 * max_pixels;  // pixels in all scans of a JPEG; encoders write some ten scans
constexpr uint64_t max_scans = 500;

[[noreturn]] void fail(const std::string& path, std::string_view cause) {
  throw Error(ErrorKind::input, fmt::format("cannot read image {}: {}", path, cause));
}

Picture new_picture(const std::string& path, uint64_t width, uint64_t height) {
  if (width == 0 || height == 0) fail(path, "it has no pixels");
  if (width > max_pixels || height > max_pixels || width * height > max_pixels) {
    fail(path, fmt::format("{} x {} is more than 100 megapixels", width, height));
  }
  return {static_cast<int>(width), static_cast<int>(height), std::vector<uint8_t>(3 * width * height)};
}

Picture decode_png(const std::string& path, std::span<const std::byte> bytes) {
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(spng_ctx_new(0), spng_ctx_free);
  spng_set_chunk_limits(context.get(), size_t{64} << 20, size_t{64} << 20);
  const auto check = [&](int error) {
    if (error != 0) fail(path, spng_strerror(error));
  };
  check(spng_set_png_buffer(context.get(), bytes.data(), bytes.size()));
  spng_ihdr header{};
  check(spng_get_ihdr(context.get(), &header));
  Picture picture = new_picture(path, header.width, header.height);
  check(spng_decode_image(context.get(), picture.rgb.data(), picture.rgb.size(), SPNG_FMT_RGB8, 0));
  return picture;
}

// A scan of a progressive JPEG may be some bytes, and decoding it goes over all pixels.
uint64_t count_scans(std::span<const std::byte> bytes) {
  constexpr int start_of_scan = 0xda, end_of_image = 0xd9;
  uint64_t scans = 0;
  const auto at = [&](size_t i) { return std::to_integer<int>(bytes[i]); };
  for (size_t i = 2; i + 3 < bytes.size();) {
    const int marker = at(i) == 0xff ? at(i + 1) : 0;
    if (marker == end_of_image) break;
    if (marker < 0xc0 || marker == 0xff || (marker >= 0xd0 && marker <= 0xd8)) {  // data of a scan, or fill
      ++i;
      continue;
    }
    if (marker == start_of_scan) ++scans;
    i += 2 + static_cast<size_t>(std::max(2, at(i + 2) * 256 + at(i + 3)));
  }
  return scans;
}

Picture decode_jpeg(const std::string& path, std::span<const std::byte> bytes) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), tjDestroy);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  int width = 0, height = 0, subsampling = 0, colorspace = 0;
  if (tjDecompressHeader3(decoder.get(), data, bytes.size(), &width, &height, &subsampling, &colorspace) != 0) {
    fail(path, tjGetErrorStr2(decoder.get()));
  }
  if (colorspace == TJCS_CMYK || colorspace == TJCS_YCCK) fail(path, "CMYK JPEG is not supported; convert it to RGB");
  const auto pixels = static_cast<uint64_t>(std::max(0, width)) * static_cast<uint64_t>(std::max(0, height));
  const uint64_t scans = count_scans(bytes);
  if (pixels <= max_pixels && (scans > max_scans || scans * pixels > max_scanned_pixels)) {
    fail(path, fmt::format("{} scans of {} x {} are more than {} scans or 2,000 megapixels in all", scans, width, height, max_scans));
  }
  Picture picture = new_picture(path, static_cast<uint64_t>(std::max(0, width)), static_cast<uint64_t>(std::max(0, height)));
  const int error = tjDecompress2(decoder.get(), data, bytes.size(), picture.rgb.data(), width, 0, height, TJPF_RGB, TJFLAG_ACCURATEDCT);
  // A warning (a truncated file, say) leaves grey pixels behind: a wrong image is not accepted.
  if (error != 0) fail(path, tjGetErrorStr2(decoder.get()));
  return picture;
}

bool begins_with(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

}  // namespace

bool is_picture_name(const std::string& path) {
  std::string ending = path.substr(std::min(path.size(), path.rfind('.')));
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

Picture decode_picture(const std::string& path, std::span<const std::byte> bytes) {
  if (begins_with(bytes, "\x89PNG\r\n\x1a\n")) return decode_png(path, bytes);
  if (begins_with(bytes, "\xff\xd8\xff")) return decode_jpeg(path, bytes);
  fail(path, "it is neither PNG nor JPEG");
}

Picture decode_picture(const std::string& path) { return decode_picture(path, map_file(path).bytes()); }

}  // namespace deepgap
