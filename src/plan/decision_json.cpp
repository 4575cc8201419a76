#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>

#include "plan/json_node.hpp"
#include "plan/layout_json.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::plan {
namespace {

using Json = nlohmann::ordered_json;

// Returns the text with this key, or an empty text if `node` has no such key.
std::string read_text(const JsonNode& node, const char* key) {
    return node.has(key) ? node.at(key).text() : std::string();
}

// Parses the "terms" of an object. `object` and `node` are the same JSON object.
std::map<std::string, double> parse_terms(const nlohmann::json& object, const JsonNode& node) {
    std::map<std::string, double> terms;
    if (!node.has("terms")) return terms;
    if (!object.at("terms").is_object()) node.at("terms").refuse("an object whose values are numbers");
    const JsonNode terms_node = node.at("terms");
    for (const auto& [name, value] : object.at("terms").items())
        terms[name] = terms_node.at(name.c_str()).number();
    return terms;
}

// Parses the "causes" of a line. `line` and `node` are the same JSON object.
std::vector<Cause> parse_causes(const nlohmann::json& line, const JsonNode& node) {
    std::vector<Cause> causes;
    if (!node.has("causes")) return causes;
    const std::array<std::string, 2> needed{"proposer", "reason"};
    const std::array<std::string, 1> optional{"terms"};
    for (const JsonNode& each : node.at("causes").items()) {
        each.require_keys(needed, optional);
        causes.push_back({.proposer = each.at("proposer").text(),
                          .reason = each.at("reason").text(),
                          .terms = parse_terms(line.at("causes").at(causes.size()), each)});
    }
    return causes;
}

void read_seconds(const JsonNode& node, Decision& decision) {
    if (!node.has("seconds")) return;
    const std::array<std::string, 0> needed{};
    const std::array<std::string, 2> optional{"predicted", "measured"};
    const JsonNode seconds = node.at("seconds");
    seconds.require_keys(needed, optional);
    if (seconds.has("predicted")) decision.predicted_seconds = seconds.at("predicted").number();
    if (seconds.has("measured")) decision.measured_seconds = seconds.at("measured").number();
}

// Parses fractions of matmuls that ranks skip or offload. Each fraction must be below 1, because a rank
// computes at least some of its matmuls itself.
std::vector<double> parse_fractions(const JsonNode& node) {
    std::vector<double> fractions;
    for (const JsonNode& fraction : node.items()) {
        fractions.push_back(fraction.number());
        if (fractions.back() >= 1) fraction.refuse("a fraction: at least 0 and less than 1");
    }
    return fractions;
}

int read_rank(const JsonNode& node, const char* key) { return static_cast<int>(node.at(key).whole_number()); }

std::vector<layout::Migration> parse_migrations(const JsonNode& node) {
    const std::array<std::string, 3> needed{"from", "to", "parts"};
    std::vector<layout::Migration> migrations;
    for (const JsonNode& each : node.items()) {
        each.require_keys(needed);
        layout::Migration& migration = migrations.emplace_back(
            layout::Migration{.from = read_rank(each, "from"), .to = read_rank(each, "to"), .fractions = {}});
        const std::vector<double> fractions = parse_fractions(each.at("parts"));
        if (fractions.size() != layout::block_matmul_count)
            each.at("parts").refuse(
                "a list of four fractions: for the first and the last matmul of attention, then for the first "
                "and the last matmul of the MLP");
        std::ranges::copy(fractions, migration.fractions.begin());
    }
    return migrations;
}

ReplicaClocks read_replica_clocks(const JsonNode& node) {
    const std::optional<ReplicaClocks> clocks = parse_replica_clocks(node.text());
    if (!clocks) node.refuse("a text such as \"1530 14*900 1530\": clocks in MHz, with the numbers of passes");
    return *clocks;
}

PassClocks parse_pass_clocks(const JsonNode& node) {
    PassClocks clocks;
    for (const JsonNode& stage : node.items()) {
        std::vector<ReplicaClocks>& of_stage = clocks.emplace_back();
        if (!stage.is_list()) {
            of_stage.push_back(read_replica_clocks(stage));
            continue;
        }
        for (const JsonNode& replica : stage.items()) of_stage.push_back(read_replica_clocks(replica));
        if (of_stage.empty()) stage.refuse("a text, or a list with one text per replica");
    }
    if (clocks.empty()) node.refuse("a list with one entry per stage");
    return clocks;
}

std::vector<int> parse_extra_forwards(const JsonNode& node) {
    std::vector<int> extra_forwards;
    for (const JsonNode& stage : node.items()) extra_forwards.push_back(static_cast<int>(stage.whole_number()));
    if (extra_forwards.empty()) node.refuse("a list with one number per stage");
    return extra_forwards;
}

// Parses a line. Returns nothing if the line has the key "no_change", which records that the plan was kept.
// `location` names the file and the line in messages.
std::optional<Decision> parse_decision(const std::string& text, const std::string& location) {
    const nlohmann::json line = parse_json<nlohmann::json>(text, location);
    if (line.is_object() && line.contains("no_change")) return std::nullopt;
    const JsonNode node(line, location);
    const std::array<std::string, 2> needed{"step", "layout"};
    const std::array<std::string, 15> optional{
        "policy",     "from",           "to",     "microbatches", "batch",  "schedule", "frozen", "left_out",
        "migrations", "extra_forwards", "clocks", "reason",       "causes", "terms",    "seconds"};
    node.require_keys(needed, optional);
    Decision decision{.step = node.at("step").whole_number(),
                      .layout = parse_layout(text, location),
                      .policy = read_text(node, "policy"),
                      .reason = read_text(node, "reason"),
                      .causes = parse_causes(line, node),
                      .from = read_text(node, "from"),
                      .to = read_text(node, "to"),
                      .terms = parse_terms(line, node)};
    read_seconds(node, decision);
    if (node.has("microbatches")) {
        decision.microbatches = static_cast<int>(node.at("microbatches").whole_number());
        if (*decision.microbatches == 0) node.at("microbatches").refuse("at least 1");
    }
    if (node.has("batch")) {
        decision.batch = node.at("batch").whole_number();
        if (*decision.batch == 0) node.at("batch").refuse("at least 1");
    }
    if (node.has("schedule")) decision.schedule = node.at("schedule").text();
    if (node.has("frozen")) decision.frozen = static_cast<int>(node.at("frozen").whole_number());
    if (node.has("left_out")) decision.skipped = parse_fractions(node.at("left_out"));
    if (node.has("migrations")) decision.migrations = parse_migrations(node.at("migrations"));
    if (node.has("extra_forwards")) decision.extra_forwards = parse_extra_forwards(node.at("extra_forwards"));
    if (node.has("clocks")) decision.clocks = parse_pass_clocks(node.at("clocks"));
    return decision;
}

// Returns an object of all terms. Whole numbers are written without a decimal point: 8, not 8.0.
Json to_json_value(const std::map<std::string, double>& terms) {
    constexpr double max_whole_number = 9e15;  // just below 2^53, up to which doubles hold all whole numbers
    Json value = Json::object();
    for (const auto& [name, number] : terms) {
        if (number == std::floor(number) && number < max_whole_number) {
            value[name] = static_cast<std::uint64_t>(number);
        } else {
            value[name] = number;
        }
    }
    return value;
}

Json to_json_value(const PassClocks& clocks) {
    Json list = Json::array();
    for (const std::vector<ReplicaClocks>& of_stage : clocks) {
        Json texts = Json::array();
        for (const ReplicaClocks& of_replica : of_stage) texts.push_back(to_string(of_replica));
        list.push_back(texts.size() == 1 ? texts.front() : texts);
    }
    return list;
}

Json to_json_value(const std::vector<Cause>& causes) {
    Json list = Json::array();
    for (const Cause& cause : causes) {
        Json& value = list.emplace_back(Json{{"proposer", cause.proposer}, {"reason", cause.reason}});
        if (!cause.terms.empty()) value["terms"] = to_json_value(cause.terms);
    }
    return list;
}

}  // namespace

std::vector<Decision> parse_decisions(std::string_view text, const std::string& file) {
    std::vector<Decision> decisions;
    std::istringstream lines{std::string(text)};
    lines.exceptions(std::ios::badbit);  // running out of memory is an error, not the end of the text
    std::size_t line_number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++line_number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        std::optional<Decision> decision = parse_decision(line, cat(file, ", line ", line_number));
        if (!decision) continue;
        if (!decisions.empty() && decision->step <= decisions.back().step) {
            throw ConfigError(cat(file, ", line ", line_number, " has step ", decision->step,
                                  ", but the decision before it has step ", decisions.back().step,
                                  "; steps must increase from line to line"));
        }
        decisions.push_back(*std::move(decision));
    }
    return decisions;
}

std::string plan_kept_to_json(std::size_t step, const std::string& why) {
    const Json line{{"step", step}, {"no_change", why}};
    return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string to_json(const Decision& decision) {
    Json line{{"step", decision.step}};
    if (!decision.policy.empty()) line["policy"] = decision.policy;
    if (!decision.from.empty()) line["from"] = decision.from;
    if (!decision.to.empty()) line["to"] = decision.to;
    line["layout"] = to_json_value(decision.layout);
    if (decision.microbatches) line["microbatches"] = *decision.microbatches;
    if (decision.batch) line["batch"] = *decision.batch;
    if (decision.schedule) line["schedule"] = *decision.schedule;
    if (decision.frozen) line["frozen"] = *decision.frozen;
    if (!decision.skipped.empty()) line["left_out"] = decision.skipped;
    if (!decision.migrations.empty()) line["migrations"] = to_json_value(decision.migrations);
    if (!decision.extra_forwards.empty()) line["extra_forwards"] = decision.extra_forwards;
    if (!decision.clocks.empty()) line["clocks"] = to_json_value(decision.clocks);
    if (!decision.reason.empty()) line["reason"] = decision.reason;
    if (!decision.causes.empty()) line["causes"] = to_json_value(decision.causes);
    if (!decision.terms.empty()) line["terms"] = to_json_value(decision.terms);
    if (decision.predicted_seconds) line["seconds"]["predicted"] = *decision.predicted_seconds;
    if (decision.measured_seconds) line["seconds"]["measured"] = *decision.measured_seconds;
    return line.dump();
}

}  // namespace trireme::plan
