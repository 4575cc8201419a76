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

std::string text_at(const JsonNode& node, const char* key) {
    return node.has(key) ? node.at(key).text() : std::string();
}

std::map<std::string, double> terms_of(const nlohmann::json& line, const JsonNode& node) {
    std::map<std::string, double> terms;
    if (!node.has("terms")) return terms;
    if (!line.at("terms").is_object()) node.at("terms").refuse("an object of numbers");
    const JsonNode all = node.at("terms");
    for (const auto& [name, value] : line.at("terms").items()) terms[name] = all.at(name.c_str()).number();
    return terms;
}

void take_seconds(const JsonNode& node, Decision& decision) {
    if (!node.has("seconds")) return;
    const std::array<std::string, 0> needed{};
    const std::array<std::string, 2> optional{"predicted", "measured"};
    const JsonNode seconds = node.at("seconds");
    seconds.require_keys(needed, optional);
    if (seconds.has("predicted")) decision.predicted_seconds = seconds.at("predicted").number();
    if (seconds.has("measured")) decision.measured_seconds = seconds.at("measured").number();
}

// Parses fractions of matmuls that are not computed. Each is below 1: a rank always computes some of its own.
std::vector<double> parts_of(const JsonNode& node) {
    std::vector<double> parts;
    for (const JsonNode& part : node.items()) {
        parts.push_back(part.number());
        if (parts.back() >= 1) part.refuse("a part: at least 0, and less than 1");
    }
    return parts;
}

int rank_at(const JsonNode& node, const char* key) { return static_cast<int>(node.at(key).whole_number()); }

std::vector<layout::Migration> migrations_of(const JsonNode& node) {
    const std::array<std::string, 3> needed{"from", "to", "parts"};
    std::vector<layout::Migration> migrations;
    for (const JsonNode& each : node.items()) {
        each.require_keys(needed);
        layout::Migration& migration = migrations.emplace_back(
            layout::Migration{.from = rank_at(each, "from"), .to = rank_at(each, "to"), .parts = {}});
        const std::vector<double> parts = parts_of(each.at("parts"));
        if (parts.size() != layout::product_count)
            each.at("parts").refuse("four parts: of attention's first and last product, and of the MLP's");
        std::ranges::copy(parts, migration.parts.begin());
    }
    return migrations;
}

// Parses a line. Returns nothing if it has "no_change".
std::optional<Decision> decision_of(const std::string& text, const std::string& place) {
    const nlohmann::json line = parse_json<nlohmann::json>(text, place);
    if (line.is_object() && line.contains("no_change")) return std::nullopt;
    const JsonNode node(line, place);
    const std::array<std::string, 2> needed{"step", "layout"};
    const std::array<std::string, 10> optional{"policy",   "from",       "to",     "microbatches", "schedule",
                                               "left_out", "migrations", "reason", "terms",        "seconds"};
    node.require_keys(needed, optional);
    Decision decision{.step = node.at("step").whole_number(),
                      .layout = layout_from_json(text, place),
                      .policy = text_at(node, "policy"),
                      .reason = text_at(node, "reason"),
                      .from = text_at(node, "from"),
                      .to = text_at(node, "to"),
                      .terms = terms_of(line, node)};
    take_seconds(node, decision);
    if (node.has("microbatches")) {
        decision.microbatches = static_cast<int>(node.at("microbatches").whole_number());
        if (*decision.microbatches == 0) node.at("microbatches").refuse("at least 1");
    }
    if (node.has("schedule")) decision.schedule = node.at("schedule").text();
    if (node.has("left_out")) decision.left_out = parts_of(node.at("left_out"));
    if (node.has("migrations")) decision.migrations = migrations_of(node.at("migrations"));
    return decision;
}

// Writes whole numbers without a fraction: 8, not 8.0.
Json json_value_of(const std::map<std::string, double>& terms) {
    constexpr double most_counted = 9e15;
    Json value = Json::object();
    for (const auto& [name, number] : terms) {
        if (number == std::floor(number) && number < most_counted) {
            value[name] = static_cast<std::uint64_t>(number);
        } else {
            value[name] = number;
        }
    }
    return value;
}

}  // namespace

std::vector<Decision> decisions_from_jsonl(std::string_view text, const std::string& file) {
    std::vector<Decision> decisions;
    std::istringstream lines{std::string(text)};
    lines.exceptions(std::ios::badbit);  // running out of memory is an error, not the end of the text
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
        std::optional<Decision> decision = decision_of(line, cat(file, ", line ", number));
        if (!decision) continue;
        if (!decisions.empty() && decision->step <= decisions.back().step) {
            throw ConfigError(cat(file, ", line ", number, " is of step ", decision->step,
                                  ", and the one before it of step ", decisions.back().step,
                                  "; a plan changes at most once after a step, and steps must increase"));
        }
        decisions.push_back(*std::move(decision));
    }
    return decisions;
}

std::string json_of_no_change(std::size_t step, const std::string& why) {
    const Json line{{"step", step}, {"no_change", why}};
    return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string json_of(const Decision& decision) {
    Json line{{"step", decision.step}};
    if (!decision.policy.empty()) line["policy"] = decision.policy;
    if (!decision.from.empty()) line["from"] = decision.from;
    if (!decision.to.empty()) line["to"] = decision.to;
    line["layout"] = json_value_of(decision.layout);
    if (decision.microbatches) line["microbatches"] = *decision.microbatches;
    if (decision.schedule) line["schedule"] = *decision.schedule;
    if (!decision.left_out.empty()) line["left_out"] = decision.left_out;
    if (!decision.migrations.empty()) line["migrations"] = json_value_of(decision.migrations);
    if (!decision.reason.empty()) line["reason"] = decision.reason;
    if (!decision.terms.empty()) line["terms"] = json_value_of(decision.terms);
    if (decision.predicted_seconds) line["seconds"]["predicted"] = *decision.predicted_seconds;
    if (decision.measured_seconds) line["seconds"]["measured"] = *decision.measured_seconds;
    return line.dump();
}

}  // namespace trireme::plan
