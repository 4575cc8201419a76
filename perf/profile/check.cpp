// How well a profile's kernels tell what calls take that were not measured: the layers of a model are measured
// on the micro-batches of a profile, and on some between and beyond them, which are left out of it.
//
//   perf_profile_check RESULT.json REPEATS MODEL:LENGTH...        on one thread, as gpt2-tiny:256 gpt2:256
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/equal_layers.hpp"
#include "tools/measure_kernels.hpp"
#include "trireme/base/version.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/train/specimen.hpp"

namespace trireme::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr double bound = 0.1;

struct Case {
    std::string model;
    std::size_t length = 0;
    std::size_t repeats = 7;

    RunConfig config() const {
        RunConfig config;
        config.model.name = model;
        config.data.max_length = length;
        config.run.batch = 1;
        config.run.threads = 1;
        return config;
    }
};

struct Measured {
    std::vector<KernelProfile> profile;   // what a profile would have
    std::vector<KernelProfile> left_out;  // of other shapes
};

void append(std::vector<KernelProfile>& to, const std::vector<KernelProfile>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

// From small to large, so that a machine whose speed drifts is fair to both.
Measured measure(const Case& wanted) {
    const Specimen specimen(wanted.config());
    const ProfileSubject subject{.model = specimen.model(),
                                 .batch = specimen.batch(),
                                 .dtype = specimen.dtype(),
                                 .optimizer = {},
                                 .stream = specimen.stream()};
    const std::vector<BatchSize> left_out{{.length = 0.375}, {.length = 0.75}, {.length = 0.75, .copies = 2}};
    const std::vector<BatchSize> known = sizes_of_profile();
    Measured measured;
    const std::vector<std::size_t> layers = distinct_layers(build_layers(specimen.model()));
    const auto take = [&](const BatchSize& size, std::vector<KernelProfile>& into) {
        append(into, measure_layer_kernels(subject, {.layers = layers, .sizes = {size}}, wanted.repeats));
    };
    for (std::size_t s = 0; s < known.size(); ++s) {
        take(known[s], measured.profile);
        if (s < left_out.size()) take(left_out[s], measured.left_out);
    }
    append(measured.profile, measure_flat_kernels(subject, wanted.repeats));
    return measured;
}

// Updates do not depend on the micro-batch.
bool is_known(const std::vector<KernelProfile>& profile, const KernelProfile& call) {
    return std::ranges::any_of(profile, [&](const KernelProfile& each) {
        return each.kernel == call.kernel && each.call == call.call;
    });
}

struct Sum {
    double measured = 0, predicted = 0, within = 0, worst = 0;
    std::size_t shapes = 0;

    void add(double seconds, double estimate, double calls) {
        const double difference = estimate / seconds - 1;
        measured += seconds * calls;
        predicted += estimate * calls;
        if (std::abs(difference) <= bound) within += seconds * calls;
        if (std::abs(difference) > std::abs(worst)) worst = difference;
        ++shapes;
    }
    Json json() const {
        return {{"shapes", shapes},
                {"difference", predicted / measured - 1},
                {"share_of_time_within_bound", within / measured},
                {"worst", worst}};
    }
};

Json compare(const Measured& measured, const Case& wanted) {
    const KernelTimes times(measured.profile);
    std::map<std::string, Sum> kernels;
    Sum all;
    Json calls = Json::array();
    for (const KernelProfile& each : measured.left_out) {
        if (is_known(measured.profile, each)) continue;
        const double estimate = times.seconds(each.kernel, each.call);
        const double per_pass = static_cast<double>(each.calls) / static_cast<double>(wanted.repeats);
        kernels[each.kernel].add(each.seconds, estimate, per_pass);
        all.add(each.seconds, estimate, per_pass);
        calls.push_back({{"kernel", each.kernel},
                         {"product", each.call.product},
                         {"bytes", each.call.bytes},
                         {"measured_us", 1e6 * each.seconds},
                         {"interpolated_us", 1e6 * estimate}});
    }
    Json by_kernel;
    for (const auto& [kernel, sum] : kernels) by_kernel[kernel] = sum.json();
    return {{"model", wanted.model},
            {"length", wanted.length},
            {"all", all.json()},
            {"kernels", by_kernel},
            {"calls", calls}};
}

void print(const Json& result) {
    const auto line = [](const std::string& name, const Json& sum) {
        std::printf(
            "%-28s %4d shapes  %+6.1f %% in all  %5.1f %% of the time within %.0f %%  worst %+6.1f %%\n",
            name.c_str(), sum["shapes"].get<int>(), 100 * sum["difference"].get<double>(),
            100 * sum["share_of_time_within_bound"].get<double>(), 100 * bound,
            100 * sum["worst"].get<double>());
    };
    for (const auto& [kernel, sum] : result["kernels"].items()) line(kernel, sum);
    line("all", result["all"]);
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    using namespace trireme;
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s RESULT.json REPEATS MODEL:LENGTH...\n", argv[0]);
        return 2;
    }
    perf::Json result{{"machine", processor_name()},
                      {"version", build_facts().version},
                      {"threads", 1},
                      {"repeats", std::stoul(argv[2])},
                      {"bound", perf::bound}};
    for (int word = 3; word < argc; ++word) {
        const std::string text = argv[word];
        const std::size_t sign = text.find(':');
        if (sign == std::string::npos) {
            std::fprintf(stderr, "%s is no MODEL:LENGTH\n", argv[word]);
            return 2;
        }
        const perf::Case wanted{.model = text.substr(0, sign),
                                .length = std::stoul(text.substr(sign + 1)),
                                .repeats = result["repeats"]};
        std::printf("%s\n", argv[word]);
        result["models"].push_back(perf::compare(perf::measure(wanted), wanted));
        perf::print(result["models"].back());
    }
    std::ofstream(argv[1]) << result.dump(1) << '\n';
    return 0;
}
