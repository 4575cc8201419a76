// Converts the report of `trireme doctor` to JSON, and the facts of a rank to and from JSON.
#include <nlohmann/json.hpp>

#include "tools/doctor/findings.hpp"

namespace trireme::tools::doctor {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;  // version of the JSON format

Json to_json_value(const ScratchFacts& scratch) {
    Json value;
    if (!scratch.failure.empty()) return {{"failure", scratch.failure}};
    value["written_bytes_per_s"] = scratch.written_bytes_per_s;
    value["read_bytes_per_s"] = scratch.read_bytes_per_s;
    value["free_bytes"] = scratch.free_bytes;
    if (!scratch.hdf5_failure.empty()) value["hdf5_failure"] = scratch.hdf5_failure;
    return value;
}

ScratchFacts parse_scratch(const Json& value) {
    return {.failure = value.value("failure", std::string()),
            .hdf5_failure = value.value("hdf5_failure", std::string()),
            .written_bytes_per_s = value.value("written_bytes_per_s", 0.0),
            .read_bytes_per_s = value.value("read_bytes_per_s", 0.0),
            .free_bytes = value.value("free_bytes", 0.0)};
}

Json to_json_value(const Gpu& gpu) {
    Json value{{"model", gpu.model}, {"id", gpu.id}};
    if (!gpu.bus_id.empty()) value["bus_id"] = gpu.bus_id;
    return value;
}

// Calls `visit_figure` with the JSON key and the value of each figure of a GPU's state.
template <class State, class VisitFigure>
void for_each_figure(State& state, const VisitFigure& visit_figure) {
    visit_figure("watts", state.reading.watts);
    visit_figure("power_limit_watts", state.reading.power_limit_watts);
    visit_figure("default_power_limit_watts", state.limits.default_power_limit_watts);
    visit_figure("clock_mhz", state.reading.clock_mhz);
    visit_figure("highest_clock_mhz", state.limits.highest_clock_mhz);
    visit_figure("memory_clock_mhz", state.reading.memory_clock_mhz);
    visit_figure("celsius", state.reading.celsius);
    visit_figure("used_bytes", state.reading.used_bytes);
    visit_figure("total_bytes", state.reading.total_bytes);
}

void add_state(Json& value, const GpuState& state) {
    if (!state.driver.empty()) value["driver"] = state.driver;
    if (!state.complaint.empty()) value["complaint"] = state.complaint;
    for_each_figure(state, [&](const char* name, const std::optional<double>& figure) {
        if (figure) value[name] = *figure;
    });
}

GpuState parse_gpu_state(const Json& value) {
    GpuState state{.driver = value.value("driver", ""), .complaint = value.value("complaint", "")};
    for_each_figure(state, [&](const char* name, std::optional<double>& figure) {
        if (value.contains(name)) figure = value.at(name);
    });
    return state;
}

Json to_json_value(const RankFacts& rank) {
    Json value{{"host", rank.host},
               {"node", rank.node},
               {"program", rank.program},
               {"mpi", rank.mpi_library},
               {"processor", rank.processor},
               {"cores", rank.cores},
               {"node_cores", rank.node_cores},
               {"threads", rank.threads},
               {"flops", rank.flops},
               {"node_bytes", rank.node_bytes},
               {"gpus", Json::array()},
               {"node_gpus", rank.node_gpus}};
    if (rank.available_bytes > 0) value["available_bytes"] = rank.available_bytes;
    if (!rank.memory_group.empty())
        value["memory_group"] = {{"path", rank.memory_group}, {"bytes", rank.memory_group_bytes}};
    for (std::size_t i = 0; i < rank.gpus.size(); ++i) {
        Json& gpu = value["gpus"].emplace_back(to_json_value(rank.gpus[i]));
        if (i < rank.gpu_states.size()) add_state(gpu, rank.gpu_states[i]);
    }
    if (!rank.cuda_complaint.empty()) value["cuda_complaint"] = rank.cuda_complaint;
    if (rank.scratch) value["scratch"] = to_json_value(*rank.scratch);
    return value;
}

Json to_json_value(const Finding& finding) {
    Json value{{"name", finding.name}, {"status", to_string(finding.status)}, {"text", finding.text}};
    if (!finding.advice.empty()) value["advice"] = finding.advice;
    return value;
}

Json to_json_value(const PairFacts& pair, const std::vector<RankFacts>& ranks) {
    const auto find_node = [&](int rank) { return ranks[static_cast<std::size_t>(rank)].node; };
    return {{"ranks", {pair.first, pair.second}},
            {"is_within_host", find_node(pair.first) == find_node(pair.second)},
            {"latency", pair.seconds},
            {"bandwidth", pair.bytes_per_s}};
}

Json make_job_json(const Facts& facts) {
    Json value{{"id", facts.job}};
    if (facts.job_seconds_left) value["seconds_left"] = *facts.job_seconds_left;
    return value;
}

Json make_ranks_json(const Facts& facts) {
    const auto chosen_gpus = choose_gpus(facts.ranks);
    Json all = Json::array();
    for (std::size_t rank = 0; rank < facts.ranks.size(); ++rank) {
        Json value = to_json_value(facts.ranks[rank]);
        if (chosen_gpus[rank]) value["takes_gpu"] = chosen_gpus[rank]->id;
        all.push_back(std::move(value));
    }
    return all;
}

// Returns the text of `value`, on one line if `indent` is -1. Replaces bytes that are invalid UTF-8: a
// host name may contain such bytes.
std::string dump_json(const Json& value, int indent) {
    return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string to_json(const Facts& facts, const std::vector<Finding>& findings) {
    constexpr int indent = 2;
    Json value{{"schema", schema},
               {"all_work", is_everything_working(findings)},
               {"findings", Json::array()},
               {"compiler", facts.compiler},
               {"hdf5", facts.hdf5},
               {"matrices", facts.matmul_library},
               {"has_cuda", facts.has_cuda},
               {"started_by", to_string(facts.start.launcher)},
               {"processes", facts.start.process_count},
               {"scratch", facts.scratch}};
    for (const Finding& finding : findings) value["findings"].push_back(to_json_value(finding));
    if (!facts.job.empty()) value["job"] = make_job_json(facts);
    value["ranks"] = make_ranks_json(facts);
    value["links"] = Json::array();
    for (const PairFacts& pair : facts.pairs) value["links"].push_back(to_json_value(pair, facts.ranks));
    return dump_json(value, indent) + "\n";
}

std::string to_json(const RankFacts& rank) { return dump_json(to_json_value(rank), -1); }

RankFacts parse_rank_facts(const std::string& text) {
    const Json value = Json::parse(text);
    RankFacts rank{.program = value.value("program", std::string()),
                   .mpi_library = value.value("mpi", std::string()),
                   .host = value.value("host", std::string()),
                   .processor = value.value("processor", std::string()),
                   .node = value.value("node", 0),
                   .cores = value.value("cores", std::vector<int>()),
                   .node_cores = value.value("node_cores", 0),
                   .threads = value.value("threads", 1),
                   .flops = value.value("flops", 0.0),
                   .node_bytes = value.value("node_bytes", 0.0),
                   .available_bytes = value.value("available_bytes", 0.0),
                   .node_gpus = value.value("node_gpus", 0)};
    for (const Json& gpu : value.value("gpus", Json::array())) {
        rank.gpus.push_back(
            {.model = gpu.value("model", ""), .id = gpu.value("id", ""), .bus_id = gpu.value("bus_id", "")});
        rank.gpu_states.push_back(parse_gpu_state(gpu));
    }
    rank.cuda_complaint = value.value("cuda_complaint", "");
    const Json group = value.value("memory_group", Json::object());
    rank.memory_group = group.value("path", std::string());
    rank.memory_group_bytes = group.value("bytes", 0.0);
    if (value.contains("scratch")) rank.scratch = parse_scratch(value["scratch"]);
    return rank;
}

}  // namespace trireme::tools::doctor
