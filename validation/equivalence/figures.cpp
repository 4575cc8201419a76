#include "equivalence/figures.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "trireme/archive/safetensors.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/model/model.hpp"

namespace trireme::equivalence {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

void add_if_there(const nlohmann::json& record, const char* field, std::vector<double>& values) {
    if (record.contains(field)) values.push_back(record.at(field));
}

std::vector<double> values_of(const StoredModel& stored, const ParameterSpec& spec) {
    std::vector<double> values(spec.size());
    stored.read(spec, StoredType::f64, std::as_writable_bytes(std::span(values)));
    return values;
}

// Each difference relative to its own number.
double largest(const std::vector<double>& values, const std::vector<double>& expected) {
    if (values.size() != expected.size()) return infinite;
    double most = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] == expected[i]) continue;
        const double apart = std::abs(values[i] - expected[i]) / std::abs(expected[i]);
        most = std::isnan(apart) ? infinite : std::max(most, apart);
    }
    return most;
}

// The length of the difference relative to that of the tensor: an optimizer that divides by the size of gradients
// makes much of rounding where these are nearly nought.
double of_lengths(const std::vector<double>& values, const std::vector<double>& expected) {
    if (values.size() != expected.size()) return infinite;
    double apart = 0;
    double length = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        apart += (values[i] - expected[i]) * (values[i] - expected[i]);
        length += expected[i] * expected[i];
    }
    const double relative = apart == 0 ? 0 : std::sqrt(apart / length);
    return std::isnan(relative) ? infinite : relative;
}

}  // namespace

Figures read_figures(const std::filesystem::path& run) {
    Figures figures;
    std::ifstream steps(run / "steps.jsonl");
    for (std::string line; std::getline(steps, line);) {
        const auto record = nlohmann::json::parse(line);
        add_if_there(record, "loss", figures.losses);
        add_if_there(record, "grad_norm", figures.norms);
        add_if_there(record, "validation_loss", figures.evaluations);
    }
    const StoredModel stored = StoredModel::open(run);
    for (const ParameterSpec& spec : unique_parameters(build_layers(stored.config()))) {
        figures.parameters[spec.name] = values_of(stored, spec);
    }
    return figures;
}

Difference difference(const Figures& figures, const Figures& expected) {
    Difference found{.losses = std::max(largest(figures.losses, expected.losses),
                                        largest(figures.evaluations, expected.evaluations)),
                     .norms = largest(figures.norms, expected.norms),
                     .parameters = figures.parameters.size() == expected.parameters.size() ? 0 : infinite};
    for (const auto& [name, values] : expected.parameters) {
        const auto other = figures.parameters.find(name);
        const double apart =
            other == figures.parameters.end() ? infinite : of_lengths(other->second, values);
        if (apart <= found.parameters) continue;
        found.parameters = apart;
        found.parameter = name;
    }
    return found;
}

}  // namespace trireme::equivalence
