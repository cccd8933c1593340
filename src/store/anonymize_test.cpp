#include "store/store.h"

#include "base/temporary_folder.h"

#include "base/file.h"
#include "record/example_record.h"
#include "record/identity.h"
#include "record/record_json.h"

#include <deepgap/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>

namespace deepgap {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

Record telling_record() {
  Record record = example_record(1);
  record.environment["gpu.0.uuid"] = std::string("GPU-11aa22bb");
  record.environment["git.remote"] = std::string("git@git.example.org:ann/secret.git");
  record.environment["library.onnxruntime.path"] = std::string("/home/ann/deepgap/.venv/libonnxruntime.so.1.31.1");
  record.facts["cpu_time.user"] = 12.5;
  record.point.model = "/home/ann/models/x.onnx";
  record.point.placement.devices[0].host = "node-18";
  record.point.options["cache"] = "~/cache/deepgap";
  record.reason = "worker on NODE-17 died: cannot open '/scratch/bob/w.safetensors': 12 images/s";
  record.stderr_tail = "[node-17.example.org] GPU-11aa22bb lost for ann\n  at /opt/ort/lib/x.so: /a b";
  return record;
}

TEST(Anonymize, LeavesOutWhoAndWhere) {
  Record record = telling_record();
  anonymize(record);
  const std::string text = lower(record_to_json(record).dump());
  for (const char* secret :
       {"node-17", "node-18", "example.org", "sn-4711", "gpu-11aa22bb", "ann", "bob", "someone", "/home", "/opt", "/scratch", "~"}) {
    // "ann" as a word of its own
    const size_t at = text.find(secret);
    EXPECT_TRUE(at == std::string::npos || std::isalpha(static_cast<unsigned char>(text[at + std::string(secret).size()])))
        << secret << ": " << text;
  }
  EXPECT_EQ(record.point.model, "x.onnx");
  EXPECT_EQ(record.reason, "worker on anonymous died: cannot open 'w.safetensors': 12 images/s");
  EXPECT_EQ(std::get<double>(record.facts.at("cpu_time.user")), 12.5);
  EXPECT_EQ(std::get<std::string>(record.environment.at("cpu.model")), "Example CPU @ 2.10GHz");
  EXPECT_EQ(std::get<std::string>(record.environment.at("os.name")), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(std::get<std::string>(record.environment.at("library.onnxruntime.path")), "libonnxruntime.so.1.31.1");
}

TEST(Anonymize, LeavesAPlainRecordAsItIs) {
  Record record = example_record(2);
  for (const char* key : {"host.name", "host.serial", "git.root", "power.rapl"}) record.environment.erase(key);
  const auto before = record_to_json(record);
  anonymize(record);
  EXPECT_EQ(record_to_json(record), before);
}

TEST(Anonymize, OfARelativePathTheNameStays) {
  Record record = example_record(2);
  record.point.model = "../secretfolder/mynet.onnx";
  record.point.dataset = "secretfolder/hidden/pictures/";
  record.point.options = {{"trace", "./private/day.csv"}, {"affinity", "0-3/8"}, {"shape", "input:1x3/mask:Nx7"}};
  record.reason = "../secretfolder/mynet.onnx: node 'secretfolder/Conv' is wrong";
  record.stderr_tail = "cannot open ./private/day.csv, see secretfolder/hidden/pictures and /x/../secretfolder/mynet.onnx";
  anonymize(record);
  EXPECT_EQ(record.point.model, "mynet.onnx");
  EXPECT_EQ(record.point.dataset, "pictures");
  EXPECT_EQ(record.point.options.at("trace"), "day.csv");
  EXPECT_EQ(record.point.options.at("affinity"), "0-3/8");
  EXPECT_EQ(record.point.options.at("shape"), "input:1x3/mask:Nx7");
  EXPECT_EQ(record.reason, "mynet.onnx: node 'secretfolder/Conv' is wrong") << "a node's name is the model's own";
  EXPECT_EQ(record.stderr_tail, "cannot open day.csv, see pictures and mynet.onnx");
}

// Intervals hang on which Records ran on one node.
TEST(Anonymize, NodesHaveOtherNames) {
  Anonymizer anonymizer;
  std::set<std::string> names;
  std::vector<Record> records;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    Record record = example_record(seed);
    record.facts["fleet.node"] = seed % 2 == 0 ? std::string("secretnode1") : std::string("n2");
    record.stderr_tail = "secretnode1 fell over";
    records.push_back(record);
    anonymizer.apply(record);
    EXPECT_EQ(lower(record_to_json(record).dump()).find("secretnode1"), std::string::npos);
    names.insert(node_of(record));
  }
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(names.count("n2"), 0u);
  Record twice = records[0];
  anonymize(twice);
  const std::string once = node_of(twice);
  anonymize(twice);
  EXPECT_EQ(node_of(twice), once);
  Record alone = example_record(1);  // not in a fleet: its host
  anonymize(alone);
  EXPECT_FALSE(node_of(alone).empty());
  EXPECT_EQ(alone.facts.count("fleet.node"), 0u);
}

TEST(Anonymize, NumbersStayEachRecordsOwn) {
  Anonymizer anonymizer;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    Record record = example_record(seed);
    const Fact available = record.environment.at("memory.available_bytes");
    anonymizer.apply(record);
    EXPECT_EQ(record.environment.at("memory.available_bytes"), available);
    EXPECT_EQ(record.environment.count("host.name"), 0u);
  }
}

struct Copied {
  TemporaryFolder folder;
  std::string from = folder / "from.db", to = folder / "to.db";
  Copied() {
    Store store(from, Store::Mode::append);
    Record early = example_record(5);
    early.reason = "ann was here";  // only the next Record gives away that this is a name
    early.timings = example_record(5, 2000).timings;
    store.append(early);
    store.append(telling_record());
  }
  std::string bytes() const { return lower(read_text(to)); }
};

TEST(CopyStore, PlainCopyHasEverything) {
  const Copied copied;
  copy_store(copied.from, copied.to, {});
  const Store from(copied.from, Store::Mode::read), to(copied.to, Store::Mode::read);
  std::vector<nlohmann::json> a, b;
  from.each([&](Record&& record) { a.push_back(record_to_json(record)); });
  to.each([&](Record&& record) { b.push_back(record_to_json(record)); });
  EXPECT_EQ(a, b);
  const std::string id = example_record(5).record_id;
  EXPECT_EQ(to.timings(id).size(), 2000u);
  EXPECT_EQ(to.series(id).size(), 2u);
  EXPECT_NE(copied.bytes().find("node-17"), std::string::npos);
}

TEST(CopyStore, RecordsAreRevisedWithTheirTimings) {
  const Copied copied;
  const auto count = [](Record& record) { record.estimates["seen"] = {static_cast<double>(record.timings.size()), {}, {}, 1}; };
  copy_store(copied.from, copied.to, {.compact = true, .anonymous = false, .revise = count});
  Store(copied.to, Store::Mode::read).look([](const Record& record) {
    if (record.record_id == example_record(5).record_id) {
      EXPECT_EQ(record.estimates.at("seen").value, 2000);
    }
  });
  EXPECT_THROW(copy_store(copied.to, copied.to + "2", {.compact = false, .anonymous = false, .revise = count}), Error);
}

TEST(CopyStore, AnonymousBytesHoldNoNames) {
  const Copied copied;
  copy_store(copied.from, copied.to, {.compact = false, .anonymous = true});
  const std::string bytes = copied.bytes();
  for (const char* secret : {"node-17", "node-18", "example.org", "sn-4711", "gpu-11aa", "someone", "/home", "/opt/", "bob", "ann was"}) {
    EXPECT_EQ(bytes.find(secret), std::string::npos) << secret;
  }
  EXPECT_EQ(Store(copied.to, Store::Mode::read).timings(example_record(5).record_id).size(), 2000u);
  EXPECT_NE(lower(read_text(copied.from)).find("node-17"), std::string::npos);  // the original is untouched
}

TEST(CopyStore, CompactIsSmallAndStillTellsTheCount) {
  const Copied copied;
  copy_store(copied.from, copied.to, {.compact = true, .anonymous = false});
  const Store to(copied.to, Store::Mode::read);
  const std::string id = example_record(5).record_id;
  EXPECT_TRUE(to.timings(id).empty());
  EXPECT_TRUE(to.series(id).empty());
  EXPECT_EQ(to.timing_counts().at(id), 2000);
  EXPECT_EQ(to.size(), 2);
  EXPECT_LT(std::filesystem::file_size(copied.to), 100'000u);
}

TEST(CopyStore, LeavesOneFileAndCanBeAppendedTo) {
  const Copied copied;
  copy_store(copied.from, copied.to, {});
  for (const auto& entry : std::filesystem::directory_iterator(copied.folder.path())) {
    const std::string name = entry.path().filename();
    EXPECT_TRUE(name.rfind("from.db", 0) == 0 || name == "to.db") << name;
  }
  Store(copied.to, Store::Mode::append).append(example_record(99));
  EXPECT_EQ(Store(copied.to, Store::Mode::read).size(), 3);
}

TEST(CopyStore, NeverReplacesAFile) {
  const Copied copied;
  copy_store(copied.from, copied.to, {});
  try {
    copy_store(copied.from, copied.to, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::input);
    EXPECT_NE(std::string(error.what()).find("exists already"), std::string::npos);
  }
  EXPECT_THROW(copy_store(copied.folder / "absent.db", copied.folder / "x.db", {}), Error);
  try {
    copy_store(copied.from, "/sys/x.db", {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("store /sys/x.db: "), std::string::npos) << error.what();
  }
  EXPECT_FALSE(std::filesystem::exists(copied.folder / "x.db"));
}

TEST(Anonymize, a_profile_loses_the_reasons_that_may_name_files) {
  const TemporaryFolder folder;
  const Record record = example_record(1);
  {
    Store store(folder / "a.db", Store::Mode::append);
    store.append(record);
    store.keep_profile(record.record_id, R"({"profile":{"layers":[{"name":"/home/ada/conv"}],"trace_missing":"no /home/ada/libcupti.so",)"
                                         R"("cpu_missing":{"cycles":"no /home/ada/x"}},"ceilings_missing":""})");
  }
  copy_store(folder / "a.db", folder / "b.db", {.anonymous = true});
  const std::string profile = Store(folder / "b.db", Store::Mode::read).profile(record.record_id);
  EXPECT_THAT(profile, ::testing::HasSubstr("\"name\":\"/home/ada/conv\"")) << "a node of the network is named as its file does";
  EXPECT_THAT(profile, ::testing::Not(::testing::HasSubstr("libcupti")));
  EXPECT_THAT(profile, ::testing::Not(::testing::HasSubstr("/home/ada/x")));
  EXPECT_THAT(profile, ::testing::HasSubstr("\"ceilings_missing\":\"\""));
  EXPECT_THROW(anonymous_profile("x"), Error);
}

}  // namespace
}  // namespace deepgap
