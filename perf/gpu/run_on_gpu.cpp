#include <cstdio>
#include <fstream>

#include "gpu/measurements.hpp"
#include "trireme/base/version.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme::perf {
namespace {

void write(const std::string& path, const Json& result) {
    std::ofstream file(path);
    file << result.dump(1) << '\n';
    if (!file) throw ConfigError(cat(path, " cannot be written; name a file in a folder that exists"));
}

void measure_into(const std::string& path, Json (*measure)(device::Stream& stream)) {
    const device::GpuSearch search = device::find_gpus();
    if (search.gpus.empty()) throw ConfigError(cat("nothing is measured: ", search.complaint));
    device::select_gpu(search.gpus.front().number);
    device::Stream stream = kernels::make_gpu_stream();
    Json result = gpu_facts_json();
    result.update(measure(stream));
    write(path, result);
}

}  // namespace

Json gpu_facts_json() {
    const device::GpuFacts facts = device::selected_gpu();
    return {{"program", describe_version()},
            {"gpu",
             {{"name", facts.name},
              {"capability", facts.capability},
              {"memory_bytes", facts.memory_bytes},
              {"processors", facts.multiprocessors}}}};
}

Json to_json(const Timing& timing) {
    return {{"median_s", timing.median},
            {"least_s", timing.least},
            {"most_s", timing.most},
            {"calls_of_a_round", timing.calls}};
}

Json to_json(const MatmulRate& rate) {
    Json json{{"side", rate.side}, {"flops_per_s", rate.flops_per_s()}};
    json.update(to_json(rate.timing));
    return json;
}

int run_on_gpu(int argc, char** argv, Json (*measure)(device::Stream& stream)) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s RESULT.json\n", argv[0]);
        return static_cast<int>(ExitCode::config);
    }
    try {
        measure_into(argv[1], measure);
        return static_cast<int>(ExitCode::done);
    } catch (const Error& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return static_cast<int>(error.code());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
        return static_cast<int>(ExitCode::bug);
    }
}

}  // namespace trireme::perf
