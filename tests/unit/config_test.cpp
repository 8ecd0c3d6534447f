// Settings: parsing, precedence, warnings, and the commented configuration file that is made from the same records.
#include "libcoll/base/config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace libcoll::config_test {
namespace {

/// An environment block of NAME=VALUE strings that lives as long as this object.
class Environment {
 public:
  Environment(std::initializer_list<std::string> entries) : entries_(entries) {
    for (std::string& entry : entries_) pointers_.push_back(entry.data());
    pointers_.push_back(nullptr);
  }
  [[nodiscard]] char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

/// A fresh directory, removed at the end of the test.
class ConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "libcoll-config-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0644);
    return path;
  }
  static LoadedConfig load(std::vector<std::string> files, const Environment& environment = {}) {
    return load_config(environment.get(), files);
  }

  std::string directory_;
};

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ParseBytes, UnitsArePowersOf1024) {
  EXPECT_EQ(parse_bytes("4096").value(), 4096);
  EXPECT_EQ(parse_bytes("0").value(), 0);
  EXPECT_EQ(parse_bytes("64K").value(), 65536);
  EXPECT_EQ(parse_bytes("64kb").value(), 65536);
  EXPECT_EQ(parse_bytes("64KiB").value(), 65536);
  EXPECT_EQ(parse_bytes("1.5M").value(), 1572864);
  EXPECT_EQ(parse_bytes("2G").value(), std::int64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1T").value(), std::int64_t{1} << 40);
  EXPECT_EQ(parse_bytes("inf").value(), std::numeric_limits<std::int64_t>::max());
}

TEST(ParseBytes, RefusesEverythingElse) {
  for (const char* bad : {"", "K", "B", ".", "-1", "+1", "1.5", "1..5M", "12Q", "1e6", "0x10", "nan", " 1", "1 K",
                          "infinity", "9999999999999999999999G"}) {
    const Result<std::int64_t> parsed = parse_bytes(bad);
    ASSERT_FALSE(parsed.ok()) << bad;
    EXPECT_TRUE(contains(parsed.error().message, bad));
  }
}

TEST(Settings, EveryRecordIsCompleteAndAgreesWithConfig) {
  std::set<std::string_view> names;
  for (const Setting& setting : settings()) {
    EXPECT_EQ(setting.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string_view::npos) << setting.name;
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_TRUE(setting.text.ends_with('.')) << setting.name;
    EXPECT_EQ(setting.default_value, setting.print(Config{})) << setting.name;
  }
  EXPECT_EQ(names.size(), 46U);  // one for each member of Config
}

TEST(Settings, PrintedValuesAreReadBack) {
  const std::vector<std::pair<std::string, std::string>> values = {{"enable", "no"},
                                                                   {"topology", "torus:3x3x3"},
                                                                   {"route_binding", "/b.toml"},
                                                                   {"transport", "ofi"},
                                                                   {"tuning_table", "/t.toml"},
                                                                   {"measure", "yes"},
                                                                   {"cost_model", "no"},
                                                                   {"ofi_provider", "tcp;ofi_rxm"},
                                                                   {"log_level", "trace"},
                                                                   {"stats", "json:/tmp/s.json"},
                                                                   {"trace", "/tmp/t-%r.json"},
                                                                   {"trace_events", "5"},
                                                                   {"cache_dir", "/c"},
                                                                   {"command", "/bin/libcoll"},
                                                                   {"background_planning", "no"},
                                                                   {"planning_seconds", "7"},
                                                                   {"allreduce", "bfb"},
                                                                   {"allgather", "native"},
                                                                   {"alltoall", "mcf-path"},
                                                                   {"reduce_scatter", "bfb"},
                                                                   {"reduce_scatter_block", "native"},
                                                                   {"allgatherv", "native"},
                                                                   {"alltoallv", "native"},
                                                                   {"bcast", "native"},
                                                                   {"reduce", "native"},
                                                                   {"alltoallw", "native"},
                                                                   {"nonblocking", "no"},
                                                                   {"progress_thread", "yes"},
                                                                   {"segment_bytes", "1536"},
                                                                   {"coalesce_max", "0"},
                                                                   {"planless_max", "0"},
                                                                   {"valiant_threshold", "64K"},
                                                                   {"round_bytes", "inf"},
                                                                   {"in_flight", "1024"},
                                                                   {"poll_microseconds", "0"},
                                                                   {"pacing", "yes"},
                                                                   {"host", "c101-001"},
                                                                   {"placement", "/p"},
                                                                   {"leaders", "2"},
                                                                   {"node_bytes", "16M"},
                                                                   {"one_node", "no"},
                                                                   {"single_copy", "no"},
                                                                   {"timeout_seconds", "30"},
                                                                   {"watchdog_seconds", "9"},
                                                                   {"resend_seconds", "5"},
                                                                   {"watch_topology", "no"}};
  ASSERT_EQ(values.size(), settings().size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Setting& setting = settings()[i];
    ASSERT_EQ(setting.name, values[i].first);
    Config config;
    ASSERT_NE(setting.print(config), values[i].second) << "the test must change something";
    const Status assigned = setting.assign(config, values[i].second);
    ASSERT_TRUE(assigned.ok()) << assigned.error().message;
    EXPECT_EQ(setting.print(config), values[i].second);
  }
}

/// Calls that bear no planned collective's name follow one that does, and have no planners of their own.
TEST(Environment, RelatedCallsAreServedOrNot) {
  const Environment environment = {"LIBCOLL_BCAST=native", "LIBCOLL_REDUCE=bfb", "LIBCOLL_ALLGATHER=bfb"};
  const LoadedConfig loaded = load_config(environment.get(), {});
  ASSERT_EQ(loaded.warnings.size(), 1U);
  EXPECT_TRUE(contains(loaded.warnings[0], "LIBCOLL_REDUCE: \"bfb\" is neither auto nor native")) << loaded.warnings[0];
  EXPECT_EQ(call_setting(loaded.config, CallKind::bcast), "native");
  EXPECT_EQ(call_setting(loaded.config, CallKind::reduce), "auto");
  EXPECT_EQ(call_setting(loaded.config, CallKind::allgather), "bfb");
  EXPECT_EQ(call_setting(loaded.config, CallKind::alltoallw), "auto");
  // Nonblocking calls follow their blocking variants.
  EXPECT_EQ(call_setting(loaded.config, CallKind::ibcast), "native");
  EXPECT_EQ(call_setting(loaded.config, CallKind::iallgather), "bfb");
}

TEST(Environment, SetsValuesWithoutWarnings) {
  const Environment environment = {"PATH=/bin", "LIBCOLL_TOPOLOGY=torus:3x3x3", "LIBCOLL_ENABLE=Off",
                                   "LIBCOLL_LOG_LEVEL=Debug", "LIBCOLL_SEGMENT_BYTES=64K"};
  const LoadedConfig loaded = load_config(environment.get(), {});
  EXPECT_TRUE(loaded.warnings.empty()) << loaded.warnings.front();
  EXPECT_EQ(loaded.config.topology, "torus:3x3x3");
  EXPECT_FALSE(loaded.config.enable);
  EXPECT_EQ(loaded.config.log_level, LogLevel::debug);
  EXPECT_EQ(loaded.config.segment_bytes, 65536);
}

TEST(Environment, BadValuesWarnAndLeaveTheSettingAlone) {
  const Environment environment = {"LIBCOLL_ENABLE=maybe",         "LIBCOLL_LOG_LEVEL=loud",   "LIBCOLL_STATS=yaml",
                                   "LIBCOLL_SEGMENT_BYTES=512",    "LIBCOLL_ROUND_BYTES=many", "LIBCOLL_IN_FLIGHT=0",
                                   "LIBCOLL_POLL_MICROSECONDS=2s", "LIBCOLL_STATS=json:"};
  const LoadedConfig loaded = load_config(environment.get(), {});
  ASSERT_EQ(loaded.warnings.size(), 7U);
  for (const Setting& setting : settings()) EXPECT_EQ(setting.print(loaded.config), setting.default_value);
  const std::string all = [&] {
    std::string joined;
    for (const std::string& warning : loaded.warnings) joined += warning + "\n";
    return joined;
  }();
  EXPECT_TRUE(contains(all, "LIBCOLL_SEGMENT_BYTES: \"512\" is out of bounds, expected 1K..1G; it stays at \"128K\""));
  EXPECT_TRUE(contains(all, "expected error|warn|info|debug|trace"));
}

TEST(Environment, UnknownNamesWarnOnceWithTheNameThatWasMeant) {
  const Environment environment = {"LIBCOLL_TOPOLGY=ring:4", "LIBCOLL_TOPOLGY=ring:5", "LIBCOLL_QUUX=1", "XLIBCOLL_A=1",
                                   "LIBCOLL_enable=no"};
  const LoadedConfig loaded = load_config(environment.get(), {});
  ASSERT_EQ(loaded.warnings.size(), 3U);
  EXPECT_TRUE(contains(loaded.warnings[0], "LIBCOLL_TOPOLGY"));
  EXPECT_TRUE(contains(loaded.warnings[0], "did you mean LIBCOLL_TOPOLOGY?"));
  EXPECT_TRUE(contains(loaded.warnings[1], "LIBCOLL_QUUX"));
  EXPECT_FALSE(contains(loaded.warnings[1], "did you mean"));
  EXPECT_TRUE(contains(loaded.warnings[2], "did you mean LIBCOLL_ENABLE?"));
  EXPECT_TRUE(loaded.config.enable);
}

TEST(Environment, NoEnvironmentAtAll) {
  EXPECT_TRUE(load_config(nullptr, {}).warnings.empty());
  EXPECT_TRUE(load_config(nullptr, {}).config.topology.empty());
}

TEST_F(ConfigFile, LaterFilesWinAndTheEnvironmentWinsOverAll) {
  const std::string first = write("first.toml", "topology = 'ring:4'\nin_flight = 3\nsegment_bytes = '1M'\n");
  const std::string second = write("second.toml", "topology = 'ring:5'\nenable = false\nin_flight = 5\n");
  const LoadedConfig loaded =
      load({first, directory_ + "/absent.toml", second}, {"LIBCOLL_TOPOLOGY=ring:6", "LIBCOLL_IN_FLIGHT=wrong"});
  EXPECT_EQ(loaded.config.topology, "ring:6");
  EXPECT_EQ(loaded.config.in_flight, 5);
  EXPECT_EQ(loaded.config.segment_bytes, 1 << 20);
  EXPECT_FALSE(loaded.config.enable);
  ASSERT_EQ(loaded.warnings.size(), 1U);
  EXPECT_TRUE(contains(loaded.warnings[0], "it stays at \"5\""));
}

TEST_F(ConfigFile, TheStandardFilesAreRead) {
  std::filesystem::create_directories(directory_ + "/.config/libcoll");
  const std::string file = write(".config/libcoll/libcoll.toml", "poll_microseconds = 77\n");
  const Environment environment = {"HOME=" + directory_};
  EXPECT_EQ(load_config(environment.get()).config.poll_microseconds, 77);
}

TEST_F(ConfigFile, BrokenFilesHaveNoEffect) {
  const std::string broken = write("broken.toml", "in_flight = 3\n\nenable = = 1\n");
  const LoadedConfig loaded = load({broken});
  ASSERT_EQ(loaded.warnings.size(), 1U);
  EXPECT_TRUE(loaded.warnings[0].starts_with(broken + ":3: found text that is not TOML")) << loaded.warnings[0];
  EXPECT_EQ(loaded.config.in_flight, Config{}.in_flight);
}

TEST_F(ConfigFile, FilesThatOthersMayWriteHaveNoEffect) {
  const std::string file = write("open.toml", "command = '/tmp/evil'\n");
  chmod(file.c_str(), 0666);
  const LoadedConfig loaded = load({file});
  ASSERT_EQ(loaded.warnings.size(), 1U);
  EXPECT_TRUE(contains(loaded.warnings[0], "may be written by everybody"));
  EXPECT_TRUE(loaded.config.command.empty());
}

TEST_F(ConfigFile, AFifoOrADirectoryDoesNotBlock) {
  const std::string fifo = directory_ + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const LoadedConfig loaded = load({fifo, directory_});
  ASSERT_EQ(loaded.warnings.size(), 2U);
  for (const std::string& warning : loaded.warnings) EXPECT_TRUE(contains(warning, "is not a regular file"));
}

TEST_F(ConfigFile, TheCommentedConfigurationUncommentedIsTheDefault) {
  const std::string commented = commented_config();
  EXPECT_TRUE(load({write("commented.toml", commented)}).warnings.empty());
  std::string active = commented;
  for (std::size_t at = 0; (at = active.find("\n#", at)) != std::string::npos; ++at) {
    if (active[at + 2] != ' ') active.erase(at + 1, 1);  // "#name = value", not "# text"
  }
  ASSERT_NE(active, commented);
  const LoadedConfig loaded = load({write("active.toml", active)});
  EXPECT_TRUE(loaded.warnings.empty()) << loaded.warnings.front();
  for (const Setting& setting : settings()) {
    EXPECT_EQ(setting.print(loaded.config), setting.default_value);
    EXPECT_TRUE(contains(active, "\n" + std::string(setting.name) + " = ")) << setting.name;
  }
}

// Ranks may differ in these alone; a setting that is not named here has to be the same on all of them.
TEST(Settings, ThoseOfARankAreNamed) {
  const std::set<std::string_view> expected{"enable",
                                            "topology",
                                            "route_binding",
                                            "transport",
                                            "tuning_table",
                                            "ofi_provider",
                                            "host",
                                            "placement",
                                            "stats",
                                            "trace",
                                            "trace_events",
                                            "log_level",
                                            "cache_dir",
                                            "command",
                                            "pacing",
                                            "in_flight",
                                            "single_copy",
                                            "progress_thread",
                                            "planning_seconds",
                                            "background_planning",
                                            "resend_seconds",
                                            "poll_microseconds",
                                            "timeout_seconds",
                                            "watchdog_seconds"};
  std::set<std::string_view> found;
  for (const Setting& setting : settings()) {
    if (setting.scope == SettingScope::rank) found.insert(setting.name);
  }
  EXPECT_EQ(found, expected);
}

TEST(CommittedConfiguration, IsWhatInfoConfigPrints) {
  EXPECT_EQ(read_file(LIBCOLL_TEST_INSTANCES "/../../config/libcoll.toml"), commented_config())
      << "run `libcoll info --config --all > config/libcoll.toml`";
}

}  // namespace
}  // namespace libcoll::config_test
