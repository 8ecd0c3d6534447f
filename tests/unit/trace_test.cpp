#include "libcoll/observe/trace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libcoll/base/json_text.h"
#include "libcoll/execute/execution.h"
#include "libcoll/observe/histogram.h"
#include "tests/unit/execution_harness.h"
#include "tests/unit/small_schedules.h"

namespace libcoll::trace_test {

using namespace execute;
using namespace observe;
using namespace schedule;
using namespace test;
using namespace topology;
using namespace transport;

namespace {

using Json = nlohmann::json;

TraceEvent call_event(std::int64_t begin, std::int64_t end) {
  TraceEvent event;
  event.call = CallKind::allgather;
  event.communicator = 1;
  event.begin = begin;
  event.end = end;
  event.bytes = 4096;
  return event;
}

TraceEvent send_event(std::int64_t begin, std::int64_t end) {
  TraceEvent event;
  event.kind = TraceKind::send;
  event.begin = begin;
  event.end = end;
  event.bytes = 512;
  event.tag = 0xabcU;
  event.from = 2;
  event.to = 3;
  event.step = 4;
  event.route_class = 1;
  return event;
}

/// Events of phase X, those of metadata by name.
std::vector<Json> complete_events(const Json& json) {
  std::vector<Json> events;
  std::copy_if(json.begin(), json.end(), std::back_inserter(events),
               [](const Json& event) { return event.at("ph") == "X"; });
  return events;
}

Json metadata_of(const Json& json, const std::string& name) {
  const auto found =
      std::find_if(json.begin(), json.end(), [&](const Json& event) { return event.at("name") == name; });
  return found == json.end() ? Json() : found->at("args");
}

/// Names of the threads, by number.
std::map<int, std::string> thread_names(const Json& json) {
  std::map<int, std::string> names;
  for (const Json& event : json) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
  }
  return names;
}

TEST(Trace, EventsAreJson) {
  Trace trace(10);
  trace.add(call_event(1'000'000, 3'000'500));
  trace.add(send_event(1'500'000, 2'000'000));
  const Json json = Json::parse(trace.to_json(5, {"MPI_COMM_WORLD", "half \"of\" it"}), nullptr, false);
  ASSERT_TRUE(json.is_array());
  const std::vector<Json> events = complete_events(json);
  ASSERT_EQ(events.size(), 2U);
  const Json& call = events[0];
  EXPECT_EQ(call.at("name"), "allgather");
  EXPECT_EQ(call.at("pid"), 5);
  EXPECT_EQ(call.at("args"), (Json{{"bytes", 4096}, {"served", true}}));
  EXPECT_NEAR(call.at("dur").get<double>(), 2000.5, 1e-6);
  const Json& send = events[1];
  EXPECT_EQ(send.at("cat"), "send");
  EXPECT_NEAR(send.at("ts").get<double>() - call.at("ts").get<double>(), 500, 1e-3);
  EXPECT_EQ(
      send.at("args"),
      (Json{{"bytes", 512}, {"step", 4}, {"route_class", 1}, {"tag", "0x0000000000000abc"}, {"communicator", 0}}));
  const std::map<int, std::string> names = thread_names(json);
  EXPECT_EQ(names.at(call.at("tid")), "half \"of\" it");
  EXPECT_EQ(names.at(send.at("tid")), "send 2→3");
  EXPECT_EQ(metadata_of(json, "process_name"), (Json{{"name", "rank 5"}}));
  EXPECT_EQ(metadata_of(json, "libcoll").at("events_dropped"), 0);
}

// Weeks begin on Thursday 0:00 UTC.
TEST(Trace, EventsBeforeTheWeekAreNegative) {
  constexpr std::int64_t eight_days = std::int64_t{8} * 24 * 3600 * 1'000'000'000;
  Trace trace(2);
  trace.add(call_event(-eight_days - 3'500, -eight_days));
  trace.add(call_event(-eight_days - 1'500, -eight_days));
  const Json json = Json::parse(trace.to_json(0, {"MPI_COMM_WORLD"}), nullptr, false);
  ASSERT_TRUE(json.is_array());
  const std::vector<Json> events = complete_events(json);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_LT(events[1].at("ts").get<double>(), 0);
  EXPECT_NEAR(events[1].at("ts").get<double>() - events[0].at("ts").get<double>(), 2, 1e-3);
}

TEST(Trace, SaysWhyACallFellThrough) {
  Trace trace(10);
  TraceEvent event = call_event(1, 2);
  event.kind = TraceKind::fallen_through;
  event.reason = Reason::no_plan;
  event.bytes = unknown_bytes;
  trace.add(event);
  const Json json = Json::parse(trace.to_json(0, {}), nullptr, false);
  ASSERT_TRUE(json.is_array());
  EXPECT_EQ(complete_events(json).at(0).at("args"),
            (Json{{"served", false}, {"reason", std::string(to_string(Reason::no_plan))}}));
}

/// What overlaps goes to threads of its own, and a thread is used again when it is free.
TEST(Trace, NoThreadHasTwoEventsAtOnce) {
  Trace trace(100);
  for (const auto& [begin, end] : std::vector<std::pair<int, int>>{{20, 30}, {0, 10}, {5, 15}, {12, 18}, {6, 7}}) {
    trace.add(send_event(begin, end));
  }
  const Json json = Json::parse(trace.to_json(0, {}), nullptr, false);
  ASSERT_TRUE(json.is_array());
  std::map<int, double> busy_until;
  for (const Json& event : complete_events(json)) {
    const auto [thread, first] = busy_until.try_emplace(event.at("tid").get<int>(), 0);
    if (!first) {
      EXPECT_LE(thread->second, event.at("ts").get<double>() + 1e-6);
    }
    thread->second = event.at("ts").get<double>() + event.at("dur").get<double>();
  }
  EXPECT_EQ(busy_until.size(), 3U);
  std::set<std::string> names;
  for (const auto& [thread, name] : thread_names(json)) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"send 2→3", "send 2→3 #2", "send 2→3 #3"}));
}

TEST(Trace, DropsWhatItHasNoRoomFor) {
  Trace trace(2);
  for (int i = 0; i < 5; ++i) trace.add(call_event(i, i + 1));
  EXPECT_EQ(trace.dropped(), 3);
  const Json json = Json::parse(trace.to_json(0, {}), nullptr, false);
  EXPECT_EQ(complete_events(json).size(), 2U);
  EXPECT_EQ(metadata_of(json, "libcoll").at("events_dropped"), 3);
  EXPECT_TRUE(Json::parse(Trace(0).to_json(0, {}), nullptr, false).is_array());
}

TEST(Trace, FileNames) {
  EXPECT_EQ(trace_file("/tmp/trace.json", 3), "/tmp/trace.json.3");
  EXPECT_EQ(trace_file("/tmp/%r/trace-%r.json", 12), "/tmp/12/trace-12.json");
  EXPECT_EQ(trace_file("100%", 0), "100%.0");
}

TEST(Trace, SaysWhichFileCannotBeWritten) {
  const Status status = write_trace("/nonexistent/trace.json", "[]");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("/nonexistent/trace.json"), std::string::npos);
}

TEST(JsonText, EscapesWhatTheProgramMayPutIntoNames) {
  const std::string text = "tab\t, quote \", back\\slash, é, broken \xff and \xe2\x82";
  const Json json = Json::parse("\"" + json_escaped(text) + "\"", nullptr, false);
  ASSERT_TRUE(json.is_string());
  EXPECT_EQ(json, "tab , quote \", back\\slash, é, broken ? and ??");
}

/// Every rank of a schedule over memory, all messages traced: each send has its receive, with the same tag, step and
/// bytes, and they are the messages of the task graphs.
TEST(Trace, MessagesOfAnExecution) {
  for (const Schedule& schedule : {ring_allgather(4, 2), tree_allreduce(2, 2), routed_alltoall()}) {
    Plan plan = make_plan(schedule, 3);
    Job job;
    job.elements = 48;
    job.patience = 2;
    job.tuning = {64, 0, 8};
    std::vector<TaskGraph> task_graphs = make_task_graphs(plan, job);
    const std::size_t nodes = task_graphs.size();
    std::int32_t classes = 1;
    for (const Program& program : plan.programs) classes = std::max(classes, route_classes(program));
    auto transports = make_memory_transports(static_cast<int>(nodes), classes);
    std::vector<PeerId> peers;
    for (std::int32_t route_class = 0; route_class < classes; ++route_class) {
      for (std::size_t node = 0; node < nodes; ++node) {
        peers.push_back(transports.front()->connect(std::to_string(node), route_class).value());
      }
    }
    Trace trace(1000);
    std::vector<Memory> memories(nodes);
    std::vector<std::unique_ptr<Execution>> executions;
    std::size_t messages = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
      const std::int64_t rank = plan.rank_of_node[node];
      memories[node] = make_memory(plan, job, rank);
      executions.push_back(std::make_unique<Execution>(
          task_graphs[node], static_cast<NodeId>(node), buffers_of(plan, job, rank, memories[node]),
          reducer_of(job.numbers), *transports[node], peers, TagSpace(1, 0), job.tuning, plan.workspaces[node]));
      executions.back()->observe(std::make_unique<MessageTrace>(trace, task_graphs[node], static_cast<NodeId>(node),
                                                                TagSpace(1, 0), static_cast<std::int32_t>(node)));
      messages += task_graphs[node].sends.size() + task_graphs[node].receives.size();
    }
    for (auto& execution : executions) execution->start();
    for (int round = 0; round < 100; ++round) {
      for (std::size_t node = 0; node < nodes; ++node) {
        transports[node]->progress();
        executions[node]->advance();
      }
    }
    using Place = std::tuple<std::string, std::string, int, int>;
    std::set<Place> sends;
    std::set<Place> receives;
    const Json json = Json::parse(trace.to_json(0, {}), nullptr, false);
    const std::map<int, std::string> names = thread_names(json);
    for (const Json& event : complete_events(json)) {
      const Json& arguments = event.at("args");
      const std::string track = names.at(event.at("tid"));
      const std::string link = track.substr(track.find(' ') + 1, track.find('#') - track.find(' ') - 1);
      const Place place(link.substr(0, link.find(' ')), arguments.at("tag"), arguments.at("bytes"),
                        arguments.at("step"));
      EXPECT_TRUE((event.at("cat") == "send" ? sends : receives).insert(place).second);
      if (event.at("cat") == "receive") {
        EXPECT_GE(arguments.at("waited_microseconds").get<double>() + 1e-6, event.at("dur").get<double>());
      }
    }
    EXPECT_EQ(sends.size() + receives.size(), messages);
    EXPECT_EQ(sends, receives) << name_of(schedule);
    for (const auto& execution : executions) EXPECT_TRUE(execution->finished() && !execution->failed());
  }
}

}  // namespace
}  // namespace libcoll::trace_test
