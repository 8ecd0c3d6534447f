// The `libcoll` command as a user meets it: the real binary, its output, its exit codes.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace libcoll::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

inline std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A fresh directory as HOME and working directory, so that no configuration or plan of the user takes part.
class Command : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "libcoll-command-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    home_ = pattern;
    write("libcoll_fake.so", "");
  }
  void TearDown() override { fs::remove_all(home_); }

  /// Runs a shell line in the directory, with `libcoll` as a function for the binary.
  [[nodiscard]] Outcome shell(const std::string& line) const {
    const std::string task_graph = "cd '" + home_ + "' && libcoll() { '" LIBCOLL_COMMAND "' \"$@\"; }; " + line;
    const std::string call = "env -i PATH=\"$PATH\" HOME='" + home_ + "' sh -c '" + escaped(task_graph) + "' >'" +
                             home_ + "/.out' 2>'" + home_ + "/.err' </dev/null";
    const int status = std::system(call.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(home_ + "/.out"), read_file(home_ + "/.err")};
  }
  [[nodiscard]] Outcome libcoll(const std::string& arguments) const { return shell("libcoll " + arguments); }

  /// The JSON a call prints; the exit code is checked.
  [[nodiscard]] Json json(const std::string& arguments, int code = 0) const {
    const Outcome outcome = libcoll(arguments + " --json");
    EXPECT_EQ(outcome.code, code) << outcome.err;
    Json parsed = Json::parse(outcome.out, nullptr, false);
    EXPECT_FALSE(parsed.is_discarded()) << outcome.out;
    return parsed;
  }

  [[nodiscard]] std::string path(const std::string& name) const { return home_ + "/" + name; }
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }

  /// Wrong usage or unreadable input: code 2, one sentence on stderr, nothing else.
  void expect_refused(const std::string& arguments, const std::string& part) const {
    const Outcome outcome = libcoll(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments;
    EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
    EXPECT_EQ(outcome.out, "") << arguments;
  }

  /// The same of a report, in what takes seconds; made once for all tests.
  [[nodiscard]] const Json& small_report(const std::string& name) const {
    static std::map<std::string, Json> made;
    Json& report = made[name];
    if (report.is_null()) report = json("report --size small " + name);
    return report;
  }

  std::string home_;

 private:
  static std::string escaped(const std::string& text) {
    std::string result;
    for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
    return result;
  }
};

}  // namespace libcoll::test
