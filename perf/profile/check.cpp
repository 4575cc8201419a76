// Checks how well a profile predicts kernel calls that were not measured. The layers of a model are measured on
// the micro-batches of a profile, and on others between and beyond them, which the profile does not include.
//
//   perf_profile_check RESULT.json ROUNDS MODEL:LENGTH...        on one thread, as gpt2-tiny:256 gpt2:256
//
// Everything is measured in every round, and the median over the rounds counts. The difference between the even
// and the odd rounds is the best accuracy that a profile can have.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "provenance.hpp"
#include "tools/profile/isolated_layer.hpp"
#include "tools/profile/measurements.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/rank/specimen.hpp"

namespace trireme::perf {
namespace {

using Json = nlohmann::ordered_json;

constexpr double bound = 0.1;  // maximum relative error of an accurate prediction

struct Case {
    std::string model;
    std::size_t length = 0;
    std::size_t rounds = 7;

    config::RunConfig config() const {
        config::RunConfig config;
        config.model.name = model;
        config.data.max_length = length;
        config.run.batch = 1;
        config.run.threads = 1;
        return config;
    }
};

using Kernels = std::vector<plan::KernelProfile>;

struct Measured {
    Kernels profile;    // calls with the shapes of a profile
    Kernels skipped;    // calls with other shapes
    Kernels even, odd;  // calls with these other shapes, as measured in the even and odd rounds
};

void append(Kernels& to, const Kernels& from) { to.insert(to.end(), from.begin(), from.end()); }

bool is_same_call(const plan::KernelProfile& a, const plan::KernelProfile& b) {
    return a.kernel == b.kernel && a.call == b.call;
}

// Lists each call once, with the median of its measurements.
Kernels pooled(const Kernels& measured) {
    Kernels calls;
    std::vector<std::vector<double>> seconds;
    for (const plan::KernelProfile& each : measured) {
        const auto known = std::ranges::find_if(
            calls, [&](const plan::KernelProfile& call) { return is_same_call(call, each); });
        const auto place = static_cast<std::size_t>(known - calls.begin());
        if (known == calls.end()) {
            calls.push_back(each);
            seconds.emplace_back();
        } else {
            known->calls += each.calls;
        }
        seconds[place].push_back(each.seconds);
    }
    for (std::size_t c = 0; c < calls.size(); ++c) calls[c].seconds = compute_median(seconds[c]);
    return calls;
}

// Measures sizes in ascending order, alternating between profiled and skipped ones, so that a drift of the
// machine's speed affects both.
Measured measure(const Case& wanted) {
    const rank::Specimen specimen(wanted.config());
    const tools::ProfileSubject subject{.model = specimen.model(),
                                        .batch = specimen.batch(),
                                        .dtype = specimen.dtype(),
                                        .optimizer = {},
                                        .stream = specimen.stream()};
    const std::vector<tools::BatchSize> skipped{
        {.length = 0.375}, {.length = 0.75}, {.length = 0.75, .copies = 2}};
    const std::vector<tools::BatchSize> known = tools::list_profile_batch_sizes();
    Measured all;
    const std::vector<std::size_t> layers = tools::find_distinct_layers(build_layers(specimen.model()));
    const auto take = [&](const tools::BatchSize& size) {
        return measure_layer_kernels(subject, {.layers = layers, .sizes = {size}}, 1);
    };
    for (std::size_t round = 0; round < wanted.rounds; ++round) {
        for (std::size_t s = 0; s < known.size(); ++s) {
            append(all.profile, take(known[s]));
            if (s < skipped.size()) append(round % 2 == 0 ? all.even : all.odd, take(skipped[s]));
        }
        append(all.profile, measure_elementwise_kernels(subject, 1));
    }
    Kernels both = all.even;
    append(both, all.odd);
    return {.profile = pooled(all.profile),
            .skipped = pooled(both),
            .even = pooled(all.even),
            .odd = pooled(all.odd)};
}

const plan::KernelProfile* find(const Kernels& profile, const plan::KernelProfile& call) {
    const auto found = std::ranges::find_if(
        profile, [&](const plan::KernelProfile& each) { return is_same_call(each, call); });
    return found == profile.end() ? nullptr : &*found;
}

// Accuracy of the predictions for several shapes of calls.
struct Sum {
    double measured = 0, predicted = 0;  // total seconds
    double within = 0;                   // measured seconds of the shapes with an error of at most `bound`
    double worst = 0;                    // largest relative error, with its sign
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
    const plan::KernelTimes times(measured.profile);
    std::map<std::string, Sum> kernels;
    Sum all;
    Sum even_by_odd;  // the times of the odd rounds as predictions of the even rounds
    Json calls = Json::array();
    for (const plan::KernelProfile& each : measured.skipped) {
        if (find(measured.profile, each) != nullptr) continue;  // updates do not depend on the micro-batch
        const double estimate = times.predict_seconds(each.kernel, each.call);
        const double per_pass = static_cast<double>(each.calls) / static_cast<double>(wanted.rounds);
        const plan::KernelProfile* const even = find(measured.even, each);
        const plan::KernelProfile* const odd = find(measured.odd, each);
        if (even != nullptr && odd != nullptr) even_by_odd.add(even->seconds, odd->seconds, per_pass);
        kernels[each.kernel].add(each.seconds, estimate, per_pass);
        all.add(each.seconds, estimate, per_pass);
        calls.push_back({{"kernel", each.kernel},
                         {"product", each.call.matmul},
                         {"bytes", each.call.bytes},
                         {"measured_us", 1e6 * each.seconds},
                         {"interpolated_us", 1e6 * estimate}});
    }
    Json by_kernel;
    for (const auto& [kernel, sum] : kernels) by_kernel[kernel] = sum.json();
    return {{"model", wanted.model}, {"length", wanted.length},
            {"all", all.json()},     {"half_of_the_rounds_by_the_other", even_by_odd.json()},
            {"kernels", by_kernel},  {"calls", calls}};
}

void print(const Json& result) {
    const auto line = [](const std::string& name, const Json& sum) {
        std::printf(
            "%-28s shapes %4d  error of the sum %+6.1f %%  largest error %+6.1f %%  error of at most %.0f %%: "
            "%5.1f %% of the time\n",
            name.c_str(), sum["shapes"].get<int>(), 100 * sum["difference"].get<double>(),
            100 * sum["worst"].get<double>(), 100 * bound,
            100 * sum["share_of_time_within_bound"].get<double>());
    };
    for (const auto& [kernel, sum] : result["kernels"].items()) line(kernel, sum);
    line("all", result["all"]);
    line("even rounds by odd rounds", result["half_of_the_rounds_by_the_other"]);
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    using namespace trireme;
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s RESULT.json ROUNDS MODEL:LENGTH...\n", argv[0]);
        return 2;
    }
    perf::Json result{{"machine", device::read_processor_name()},
                      {"provenance", perf::provenance(argc, argv)},
                      {"threads", 1},
                      {"rounds", std::stoul(argv[2])},
                      {"bound", perf::bound}};
    for (int word = 3; word < argc; ++word) {
        const std::string text = argv[word];
        const std::size_t sign = text.find(':');
        if (sign == std::string::npos) {
            std::fprintf(stderr, "%s: '%s' must be MODEL:LENGTH, such as gpt2:256\n", argv[0], argv[word]);
            return 2;
        }
        const perf::Case wanted{.model = text.substr(0, sign),
                                .length = std::stoul(text.substr(sign + 1)),
                                .rounds = result["rounds"]};
        std::printf("%s\n", argv[word]);
        result["models"].push_back(perf::compare(perf::measure(wanted), wanted));
        perf::print(result["models"].back());
    }
    std::ofstream(argv[1]) << result.dump(1) << '\n';
    return 0;
}
