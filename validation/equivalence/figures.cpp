#include "equivalence/figures.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>

#include "trireme/archive/safetensors.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/model/model.hpp"

namespace trireme::equivalence {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

void add_if_there(const nlohmann::json& record, const char* field, std::vector<double>& values) {
    if (record.contains(field)) values.push_back(record.at(field));
}

std::vector<double> values_of(const checkpoint::StoredModel& stored, const model::ParameterSpec& spec) {
    std::vector<double> values(spec.size());
    stored.read(spec, archive::StoredType::f64, std::as_writable_bytes(std::span(values)));
    return values;
}

// Returns the largest difference, each relative to its own expected value.
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

struct Lengths {
    double apart = 0;  // norm of the difference
    double key_biases_apart = 0;
    double all = 0;  // norm of the tensor
};

// A bias of keys adds the same number to all scores of a query, which the softmax ignores. Its gradient is only
// rounding error.
bool is_key_bias(const std::string& name, std::size_t element, std::size_t size) {
    return name.ends_with(".c_attn.bias") && element / (size / 3) == 1;
}

Lengths lengths_of(const std::string& name, const std::vector<double>& values,
                   const std::vector<double>& expected) {
    Lengths squares;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double square = (values[i] - expected[i]) * (values[i] - expected[i]);
        (is_key_bias(name, i, expected.size()) ? squares.key_biases_apart : squares.apart) += square;
        squares.all += expected[i] * expected[i];
    }
    return {std::sqrt(squares.apart), std::sqrt(squares.key_biases_apart), std::sqrt(squares.all)};
}

double ratio(double apart, double all) {
    const double relative = apart == 0 ? 0 : apart / all;
    return std::isnan(relative) ? infinite : relative;
}

// Adds the difference of a tensor. Norms are compared, not elements: if a gradient is almost zero, an optimizer
// that divides by its size amplifies rounding errors.
void add_parameter(const std::string& name, const Figures& figures, const std::vector<double>& expected,
                   Difference& difference) {
    const auto found = figures.parameters.find(name);
    if (found == figures.parameters.end() || found->second.size() != expected.size()) {
        difference.parameters = infinite;
        return;
    }
    const Lengths lengths = lengths_of(name, found->second, expected);
    difference.parameters = std::max(difference.parameters, ratio(lengths.apart, lengths.all));
    difference.key_biases = std::max(difference.key_biases, ratio(lengths.key_biases_apart, lengths.all));
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
        if (record.contains("rolled_back")) figures.rolled_back.push_back(record.at("rolled_back"));
    }
    const checkpoint::StoredModel stored = checkpoint::StoredModel::open(run);
    for (const model::ParameterSpec& spec : list_unique_parameters(build_layers(stored.config()))) {
        figures.parameters[spec.name] = values_of(stored, spec);
    }
    return figures;
}

Difference difference(const Figures& figures, const Figures& expected) {
    Difference found{.losses = std::max(largest(figures.losses, expected.losses),
                                        largest(figures.evaluations, expected.evaluations)),
                     .norms = largest(figures.norms, expected.norms)};
    for (const auto& [name, values] : expected.parameters) add_parameter(name, figures, values, found);
    return found;
}

bool is_within_tolerance(const Difference& difference, bool is_double) {
    const double of_figures = is_double ? 1e-10 : 1e-5;
    const double of_parameters = is_double ? 1e-10 : 1e-4;
    return difference.losses <= of_figures && difference.norms <= of_figures &&
           difference.parameters <= of_parameters && (!is_double || difference.key_biases <= of_parameters);
}

std::string to_string(const Difference& difference) {
    std::ostringstream text;
    text << "losses differ by " << difference.losses << ", gradient norms by " << difference.norms
         << ", parameters by " << difference.parameters << " and key biases by " << difference.key_biases;
    return text.str();
}

}  // namespace trireme::equivalence
