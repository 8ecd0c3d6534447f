// libcoll routes: forwarding by destination for an InfiniBand subnet, and whether the subnet has it.
#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "libcoll/command/command.h"
#include "libcoll/command/ip_routes.h"
#include "libcoll/command/routes_fabric.h"
#include "libcoll/command/routes_options.h"
#include "libcoll/command/routes_schedule.h"
#include "libcoll/command/routes_verify.h"
#include "libcoll/command/validators.h"
#include "libcoll/plan/plan_cache.h"
#include "planner/exchange/opensm.h"
#include "planner/exchange/subnet_plan.h"
#include "planner/schedule/verify.h"
#include "planner/schedule/xml.h"

namespace libcoll::command {

using namespace exchange;
using namespace plan;
using namespace schedule;

namespace {

// ---- writing ----------------------------------------------------------------------------------------------------

/// A shell script that traces every route, as --verify reads it.
std::string trace_script(const Subnet& subnet, const SubnetPlan& plan, const Schedule& schedule,
                         const std::string& title) {
  std::string text = "#!/bin/sh\n# " + title + "\n";
  for (const RouteEnds& ends : route_ends(subnet, plan.fabric, plan.lids, schedule, plan.addresses)) {
    const std::string command =
        "ibtracert " + std::to_string(ends.source_lid) + " " + std::to_string(ends.destination_lid);
    text.append("echo '").append(command).append("'; ").append(command).append("\n");
  }
  return text;
}

Status write_files(const RoutesOptions& options, const Subnet& subnet, const SubnetPlan& plan,
                   const Schedule& schedule) {
  std::error_code failure;
  std::filesystem::create_directories(options.output, failure);
  if (failure) return Error{options.output + ": cannot be made: " + failure.message()};
  const RouteBinding binding = subnet_binding(plan, schedule, options.device);
  const std::string title = "libcoll routes, digest " + binding.routes;
  const std::string lfts_path = std::filesystem::absolute(in_folder(options, RoutesFiles::lfts)).string();
  const std::array<std::pair<const char*, std::string>, 6> files = {{
      {RoutesFiles::lfts, write_lfts(subnet, plan.tables, plan.lids, title)},
      {RoutesFiles::options, write_opensm_options(plan.lids.lmc, plan.classes.layers, lfts_path, title)},
      {RoutesFiles::lids, write_guid2lid(subnet, plan.lids)},
      {RoutesFiles::binding, "# " + title + "\n" + write_route_binding(binding)},
      {RoutesFiles::plan, write_schedule(schedule)},
      {RoutesFiles::trace, trace_script(subnet, plan, schedule, title)},
  }};
  for (const auto& [name, text] : files) {
    if (Status written = write_text(in_folder(options, name), text); !written) return written;
  }
  return {};
}

// ---- making -----------------------------------------------------------------------------------------------------

double rate(const Schedule& schedule) { return 1 / schedule.proof.max_link_load.to_double(); }

Json routes_json(const SubnetPlan& plan, const Schedule& schedule, double before) {
  return {{"topology", schedule.topology.name()},
          {"hosts", schedule.topology.host_count()},
          {"routes", schedule.routes.size()},
          {"routes_digest", route_set_digest(schedule.topology, schedule.routes)},
          {"classes", plan.addresses.size()},
          {"ports", plan.places},
          {"service_levels", plan.classes.layers},
          {"lmc", plan.lids.lmc},
          {"rerouted", plan.classes.rerouted},
          {"F", rate(schedule)},
          {"F_planned", before},
          {"F_loss", 1 - rate(schedule) / before}};
}

std::string counted(std::int64_t number, const std::string& one, const std::string& many) {
  return std::to_string(number) + " " + (number == 1 ? one : many);
}

std::string routes_text(const SubnetPlan& plan, const Schedule& schedule, double before, const std::string& output) {
  char kept[96];
  std::snprintf(kept, sizeof kept, "%.9g, %.4g %% of the plan's; %lld routes changed", rate(schedule),
                100 * rate(schedule) / before, static_cast<long long>(plan.classes.rerouted));
  std::vector<std::vector<std::string>> rows = {
      {"routes", std::to_string(schedule.routes.size()) + " in " +
                     counted(static_cast<std::int64_t>(plan.addresses.size()), "class", "classes") + ", LMC " +
                     std::to_string(plan.lids.lmc)},
      {"lanes",
       counted(plan.classes.layers, "service level", "service levels") + "; complete tables checked for deadlock"},
      {"F", kept},
      {"digest", route_set_digest(schedule.topology, schedule.routes)}};
  if (!output.empty()) rows.push_back({"written", output});
  return schedule.topology.name() + "\n" + columns(rows);
}

Status store(const RoutesOptions& options, const Schedule& schedule) {
  if (options.cache_dir.empty()) return {};
  if (Status stored = store_plan(options.cache_dir, schedule); !stored) return stored;
  return store_plan(options.cache_dir, schedule, automatic_plan);
}

int make_routes(const RoutesOptions& options) {
  const Result<Fabric> fabric = load_fabric(options);
  if (!fabric) return fail(fabric.error().message, options.json);
  Result<Planned> planned = schedule_for(options, *fabric);
  if (!planned) return fail(planned.error().message, options.json);
  Schedule* const schedule = &planned->schedule;
  const Result<SubnetTopology> reading = reading_for(*fabric, schedule->topology);
  if (!reading) return fail(options.fabric + ": " + reading.error().message, options.json);
  const double before = rate(*schedule) / (1 - planned->loss);
  const SubnetLimits limits{options.max_lmc, planned->most_lanes};
  const Result<SubnetPlan> plan = plan_subnet(fabric->subnet, *reading, *schedule, limits);
  if (!plan) return fail(plan.error().message, options.json);
  const std::vector<std::string> faults = verify(*schedule);
  if (!faults.empty()) return fail("the schedule is wrong: " + faults.front(), options.json);
  if (!options.output.empty()) {
    if (const Status named = check_devices(*plan, options.device); !named) {
      return fail("--device: " + named.error().message, options.json);
    }
    if (const Status written = write_files(options, fabric->subnet, *plan, *schedule); !written) {
      return fail(written.error().message, options.json);
    }
  }
  if (const Status stored = store(options, *schedule); !stored) return fail(stored.error().message, options.json);
  if (options.json) {
    print_json(routes_json(*plan, *schedule, before));
  } else {
    std::fputs(routes_text(*plan, *schedule, before, options.output).c_str(), stdout);
  }
  return ExitCode::good;
}

int make_routes_of_hosts(const RoutesOptions& options) {
  if (options.plan.empty()) return fail("--ip needs PLAN, a schedule or a topology to plan for", options.json);
  Result<Planned> planned = named_schedule(options);
  if (!planned) return fail(planned.error().message, options.json);
  Schedule* const schedule = &planned->schedule;
  const Result<Json> made = make_ip_routes(options.ip, options.device, options.output, *schedule);
  if (!made) return fail(made.error().message, options.json);
  if (const Status stored = store(options, *schedule); !stored) return fail(stored.error().message, options.json);
  if (options.json) {
    print_json(*made);
  } else {
    std::printf("%s\n  %s in %s, digest %s%s%s\n", schedule->topology.name().c_str(),
                counted(std::ssize(schedule->routes), "route", "routes").c_str(),
                counted((*made)["classes"].get<std::int64_t>(), "class", "classes").c_str(),
                (*made)["routes_digest"].get<std::string>().c_str(), options.output.empty() ? "" : ", written to ",
                options.output.c_str());
  }
  return ExitCode::good;
}

int routes(const RoutesOptions& options) {
  if (options.ip.wanted) return make_routes_of_hosts(options);
  if (options.fabric.empty()) {
    return fail("found neither --fabric FILE (InfiniBand) nor --ip (plain IP and RoCE), expected one", options.json);
  }
  return options.verify.empty() ? make_routes(options) : verify_routes(options);
}

}  // namespace

void add_routes(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<RoutesOptions>();
  CLI::App* sub =
      app.add_subcommand("routes", "Write a plan's routes for InfiniBand, RoCE or IP fabrics, or check a subnet's");
  sub->add_option("plan", options->plan,
                  "All-to-all schedule, or a topology to plan for; left out: plan for the fabric");
  CLI::Option* fabric =
      sub->add_option("--fabric", options->fabric, "What ibnetdiscover prints; - is standard input")->type_name("FILE");
  sub->add_option("--node-name-map", options->names, "Names by GUID, as infiniband-diags take them")->type_name("FILE");
  sub->add_option("--host-switches", options->host_switches,
                  "Switches of one host: auto, collapse or keep; left out: as the plan has them")
      ->type_name("HOW");
  sub->add_option("--output", options->output, "Folder for tables, options, LIDs, route binding and plan")
      ->type_name("FOLDER");
  sub->add_option("--max-lmc", options->max_lmc, "Largest LMC: 2^LMC classes at most")
      ->check(whole_in(0, largest_lmc))
      ->capture_default_str();
  sub->add_option("--class-loss", options->class_loss,
                  "For a plan made here: part of F that it may lose for fewer classes")
      ->check(number_in(0, 1))
      ->capture_default_str();
  sub->add_option("--max-service-levels", options->max_service_levels,
                  "Most service levels, one virtual lane each; left out: what LASH and DF-SSSP of OpenSM take")
      ->check(whole_in(1, 15));
  sub->add_option("--device", options->device, "The hosts' port in the route binding, such as mlx5_0:1")
      ->type_name("NAME");
  sub->add_option("--cache-dir", options->cache_dir, "Also store the plan in this plan cache")->type_name("FOLDER");
  CLI::Option* verify =
      sub->add_option("--verify", options->verify,
                      "Check that OpenSM's dump, or what ibroute or ibtracert print, has every route in --output")
          ->type_name("FILE");
  sub->add_option("--time-limit", options->time_limit_seconds, "For planning; 0: none")
      ->type_name("SECONDS")
      ->check(seconds_from(0));
  for (const char* other :
       {"plan", "--max-lmc", "--class-loss", "--max-service-levels", "--device", "--cache-dir", "--time-limit"}) {
    verify->excludes(sub->get_option(other));
  }
  sub->add_flag("--json", options->json, "Machine-readable output");
  CLI::Option* ip =
      sub->add_flag("--ip", options->ip.wanted, "For plain IP and RoCE: ip -batch files by host, CSV tables by switch")
          ->excludes(fabric)
          ->excludes(verify);
  sub->add_option("--steer-by", options->ip.steering,
                  "device: an address and a device for each class; gid: an address on one RoCE port; port: UDP source "
                  "port of RoCE v2")
      ->type_name("device|gid|port")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--network", options->ip.network,
                  "Host i has NETWORK + 65536 * class + 256 * (i / 250) + i % 250 + 1")
      ->type_name("ADDRESS")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--devices", options->ip.devices, "Device, or switch port, of each link: lines FROM,TO,DEVICE")
      ->type_name("FILE")
      ->needs(ip);
  sub->add_option("--link-device", options->ip.link_device,
                  "Device of other links: {number} and {name} of the neighbour")
      ->type_name("NAME")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--class-device", options->ip.class_device, "Device that has the address of a class")
      ->type_name("NAME")
      ->needs(ip)
      ->capture_default_str();
  sub->add_option("--first-gid-index", options->ip.first_gid_index, "GID index of class 0; the others follow")
      ->check(whole_in(0, 255))
      ->needs(ip)
      ->capture_default_str();
  sub->callback([options, &exit_code] { exit_code = routes(*options); });
}

}  // namespace libcoll::command
