#include "dataset/picture.h"

#include "base/test_error.h"
#include "dataset/preprocess.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <ostream>
#include <sstream>
#include <stdexcept>

namespace deepgap {
namespace {

const std::string folder = "tests/data/pictures/";

// The linear congruential generator of the C standard's example; the Python that made the expected values uses the same.
Picture noise(int width, int height) {
  Picture picture{width, height, std::vector<uint8_t>(size_t{3} * width * height)};
  uint32_t state = 12345;
  for (uint8_t& value : picture.rgb) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    value = static_cast<uint8_t>(state >> 16);
  }
  return picture;
}

struct Sums {
  int64_t plain = 0, weighted = 0;
  bool operator==(const Sums&) const = default;
};

// Two sums pin every value and its place, as computed by the Python beside it.
Sums sums(const Picture& picture) {
  Sums result;
  for (size_t i = 0; i < picture.rgb.size(); ++i) {
    result.plain += picture.rgb[i];
    result.weighted += static_cast<int64_t>(picture.rgb[i]) * static_cast<int64_t>(i + 1) % 65521;
  }
  return result;
}

void PrintTo(const Sums& s, std::ostream* out) { *out << s.plain << " / " << s.weighted; }

std::string error_of(const std::string& path) {
  return deepgap::error_of([&] { decode_picture(path); }, ErrorKind::input);
}

std::string write_temporary(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string content_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Values from Pillow 12: Image.resize((w, h), Image.BICUBIC) of the same noise, to the last grey level.
TEST(Resize, EqualsPillowsBicubic) {
  const Picture picture = noise(37, 29);
  EXPECT_EQ(sums(resize_bicubic(picture, 16, 12)), (Sums{73646, 16748335}));
  EXPECT_EQ(sums(resize_bicubic(picture, 80, 64)), (Sums{1963907, 500284053}));
  EXPECT_EQ(sums(resize_bicubic(picture, 37, 12)), (Sums{170326, 41267381}));
  EXPECT_EQ(sums(resize_bicubic(picture, 5, 29)), (Sums{55709, 11933780}));
  EXPECT_EQ(sums(resize_bicubic(picture, 1, 1)), (Sums{382, 762}));
  EXPECT_EQ(resize_bicubic(picture, 37, 29).rgb, picture.rgb);
}

TEST(Decode, PngOfEveryKindAsPillowDoes) {
  EXPECT_EQ(sums(decode_picture(folder + "waves.png")), (Sums{759664, 199136001}));
  EXPECT_EQ(sums(decode_picture(folder + "grey.png")), (Sums{739200, 208703271}));
  EXPECT_EQ(sums(decode_picture(folder + "alpha.png")), (Sums{759664, 199136001}));
  EXPECT_EQ(sums(decode_picture(folder + "palette.png")), (Sums{758880, 189825583}));
  EXPECT_EQ(decode_picture(folder + "deep.png").rgb, decode_picture(folder + "grey.png").rgb);
}

TEST(Decode, JpegAsPillowDoes) {
  EXPECT_EQ(sums(decode_picture(folder + "waves.jpg")), (Sums{759863, 206077506}));
  EXPECT_EQ(sums(decode_picture(folder + "grey.jpg")), (Sums{739200, 210487098}));
}

TEST(Decode, WhatIsNoPictureIsNamed) {
  EXPECT_THAT(error_of(write_temporary("text.png", "hello")), testing::HasSubstr("text.png: it is neither PNG nor JPEG"));
  EXPECT_THAT(error_of(write_temporary("empty.png", "")), testing::HasSubstr("neither PNG nor JPEG"));
  EXPECT_THAT(error_of(folder + "cmyk.jpg"), testing::HasSubstr("CMYK"));
  EXPECT_THAT(error_of(folder), testing::HasSubstr("it is a folder"));
  EXPECT_THAT(error_of("nowhere.png"), testing::HasSubstr("No such file"));
}

TEST(Decode, TruncatedFilesAreRefusedAtEveryLength) {
  for (const char* name : {"waves.png", "waves.jpg"}) {
    const std::string whole = content_of(folder + name);
    // The last bytes of a PNG are the empty IEND chunk, of a JPEG the end marker: pixels may be complete without them.
    for (size_t length = 0; length + 32 < whole.size(); length += 7) {
      EXPECT_NE(error_of(write_temporary("cut", whole.substr(0, length))), "no error") << name << " cut to " << length;
    }
  }
}

TEST(Decode, AHugePictureIsRefusedBeforeMemoryIsTaken) {
  std::string jpeg = content_of(folder + "waves.jpg");
  const size_t frame = jpeg.find("\xff\xc0");  // baseline frame: length 2, precision 1, height 2, width 2
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xff\xdc\xff\xdc");
  EXPECT_THAT(error_of(write_temporary("huge.jpg", jpeg)), testing::HasSubstr("65500 x 65500 is more than 100 megapixels"));
}

// Repeats the last scan of a progressive JPEG `more` times.
std::string with_more_scans(const Picture& picture, int more) {
  const std::unique_ptr<void, int (*)(tjhandle)> encoder(tjInitCompress(), tjDestroy);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): the library's
  if (tjCompress2(encoder.get(), picture.rgb.data(), picture.width, 0, picture.height, TJPF_RGB, &bytes, &size, TJSAMP_444, 90,
                  TJFLAG_PROGRESSIVE) != 0)
    throw std::runtime_error(tjGetErrorStr2(encoder.get()));
  std::string jpeg(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  const size_t last = jpeg.rfind("\xff\xda"), end = jpeg.rfind("\xff\xd9");
  const std::string scan = jpeg.substr(last, end - last);
  for (int i = 0; i < more; ++i) jpeg.insert(end, scan);
  return jpeg;
}

TEST(Decode, AProgressivePictureIsReadAndOneOfVeryManyScansIsRefused) {
  const Picture picture = noise(40, 24);
  EXPECT_EQ(error_of(write_temporary("few.jpg", with_more_scans(picture, 0))), "no error");
  EXPECT_THAT(error_of(write_temporary("scans.jpg", with_more_scans(picture, 1000))),
              testing::HasSubstr("scans of 40 x 24 are more than 500 scans or 2,000 megapixels in all"));
}

TEST(Decode, ScansOfAHugePictureAreRefusedBeforeMemoryIsTaken) {
  std::string jpeg = with_more_scans(noise(40, 24), 20);
  const size_t frame = jpeg.find("\xff\xc2");  // progressive frame
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\x27\x0f\x27\x0f");
  EXPECT_THAT(error_of(write_temporary("scans.jpg", jpeg)), testing::HasSubstr("scans of 9999 x 9999 are more than"));
}

TEST(Preprocess, CropsTheCentreAndScales) {
  Picture picture{8, 4, std::vector<uint8_t>(96)};
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 8; ++x) {
      for (int c = 0; c < 3; ++c) picture.rgb[static_cast<size_t>(3 * (8 * y + x) + c)] = static_cast<uint8_t>(10 * y + x + 100 * c);
    }
  }
  // The short side is 4 already; the centre 2x2 begins at row 1, column 3.
  const Preprocessing how{4, 2, {1, 2, 3}, {1, 2, 4}};
  std::vector<float> values(12);
  preprocess(picture, how, values);
  EXPECT_THAT(values, testing::ElementsAre(12, 13, 22, 23, 55.5f, 56, 60.5f, 61, 52.5f, 52.75f, 55, 55.25f));
}

// The published classes of the packaged pictures were computed so (tests/cli/check_test.py): a pixel of shift moves them by per cents.
TEST(Preprocess, RoundsTheLongSideAndTheOffsetDown) {
  const auto columns_of = [](int width, int height, const Preprocessing& how) {
    Picture picture{width, height, {}};
    for (int i = 0; i < width * height; ++i) picture.rgb.insert(picture.rgb.end(), 3, static_cast<uint8_t>(20 * (i % width)));
    std::vector<float> values(static_cast<size_t>(3 * how.crop * how.crop));
    preprocess(picture, how, values);
    values.resize(static_cast<size_t>(how.crop));  // the first row of the first channel
    return values;
  };
  EXPECT_THAT(columns_of(5, 4, {4, 2, {0, 0, 0}, {1, 1, 1}}), testing::ElementsAre(20, 40)) << "1.5 pixels from the left are 1";
  const auto five = columns_of(7, 6, {4, 5, {0, 0, 0}, {1, 1, 1}});
  EXPECT_EQ(std::adjacent_find(five.begin(), five.end(), std::greater_equal<>()), five.end()) << "4.67 columns are 5, none repeated";
}

}  // namespace
}  // namespace deepgap
