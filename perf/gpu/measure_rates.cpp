#include <cstdio>

#include "gpu/measurements.hpp"
#include "gpu/random_tensor.hpp"

namespace trireme::perf {
namespace {

double rate(double amount, const Timing& timing) { return amount / timing.median; }

// Copies one buffer to another. `accesses_per_byte` is the number of memory accesses per copied byte, reads
// plus writes.
Json copy_json(device::Stream& stream, const Rounds& rounds, const device::Buffer& to,
               const device::Buffer& from, double accesses_per_byte) {
    const std::size_t bytes = from.bytes();
    const Timing timing =
        time_on_gpu(stream, rounds, [&](std::size_t) { queue_of(stream).copy(to.data(), from.data(), bytes); });
    Json json{{"bytes", bytes}, {"bytes_per_s", rate(accesses_per_byte * static_cast<double>(bytes), timing)}};
    json.update(to_json(timing));
    return json;
}

// Pinned host memory for the lifetime of the object.
class PinnedBytes {
public:
    explicit PinnedBytes(std::size_t bytes) : data_(device::allocate_pinned_memory(bytes)) {}
    ~PinnedBytes() { device::free_pinned_memory(data_); }
    PinnedBytes(const PinnedBytes&) = delete;
    PinnedBytes& operator=(const PinnedBytes&) = delete;

    std::byte* data() const { return data_; }

private:
    std::byte* data_;
};

// Copies between the GPU and pinned host memory.
Json outside_copy_json(device::Stream& stream, const Rounds& rounds, std::size_t bytes, bool is_to_gpu) {
    const device::Buffer memory(bytes, device::MemorySpace::gpu);
    const PinnedBytes pinned(bytes);
    const Timing timing = time_on_gpu(stream, rounds, [&](std::size_t) {
        queue_of(stream).copy(is_to_gpu ? memory.data() : pinned.data(),
                              is_to_gpu ? pinned.data() : memory.data(), bytes);
    });
    Json json{{"bytes", bytes}, {"bytes_per_s", rate(static_cast<double>(bytes), timing)}};
    json.update(to_json(timing));
    return json;
}

Json copies_json(device::Stream& stream, const RatesWork& work) {
    constexpr double read_and_written = 2;
    Json copies;
    {
        const device::Buffer from(work.copies.within_bytes, device::MemorySpace::gpu);
        const device::Buffer to(work.copies.within_bytes, device::MemorySpace::gpu);
        const device::Tensor numbers{from.data(),      device::DType::f32, 1,
                                     from.bytes() / 4, from.bytes() / 4,   device::MemorySpace::gpu};
        fill_at_random(stream, numbers, 0);
        copies["within_the_gpu"] = copy_json(stream, work.rounds, to, from, read_and_written);
    }
    copies["to_the_gpu"] = outside_copy_json(stream, work.rounds, work.copies.outside_bytes, true);
    copies["from_the_gpu"] = outside_copy_json(stream, work.rounds, work.copies.outside_bytes, false);
    return copies;
}

// Times nearly empty kernels in two variants: queued one after the other, and with a wait after each kernel.
Json measure_kernel_starts(device::Stream& stream, const Rounds& rounds) {
    const device::Buffer memory(128, device::MemorySpace::gpu);
    const device::Tensor little{memory.data(), device::DType::f32, 1, 32, 32, device::MemorySpace::gpu};
    const auto start = [&](std::size_t) { launch(stream, kernels::Fill{.output = little, .value = 1}); };
    return {{"one_behind_the_other", to_json(time_on_gpu(stream, rounds, start))},
            {"waited_for", to_json(time_round_trips(stream, rounds, start))}};
}

Json matmul_json(device::Stream& stream, const Rounds& rounds, const Projection& projection, MatmulPass pass,
                 double reference_flops_per_s) {
    const Timing timing = time_matmul(stream, rounds, projection, pass);
    const double flops_per_s = rate(projection.flops(), timing);
    std::printf("%-12s %-30s %-24s %6zu x %5zu x %6zu %8.1f TFLOP/s, %5.1f %% of the reference\n",
                projection.model.c_str(), projection.layer.c_str(), to_string(pass), projection.rows,
                projection.in, projection.out, flops_per_s * 1e-12, 100 * flops_per_s / reference_flops_per_s);
    std::fflush(stdout);
    Json json{{"model", projection.model},  {"layer", projection.layer},
              {"half", to_string(pass)},    {"rows", projection.rows},
              {"in", projection.in},        {"out", projection.out},
              {"flops_per_s", flops_per_s}, {"share", flops_per_s / reference_flops_per_s}};
    json.update(to_json(timing));
    return json;
}

}  // namespace

Json measure_rates(device::Stream& stream, const RatesWork& work) {
    Json result{{"rounds", work.rounds.count}};
    const MatmulRate reference = measure_matmul_rate(stream, work.rounds, work.side);
    result["gemm"] = to_json(reference);
    result["copies"] = copies_json(stream, work);
    result["starts"] = measure_kernel_starts(stream, work.rounds);
    std::printf(
        "reference, a %zu^3 matmul in bf16: %.1f TFLOP/s; copies within the GPU: %.0f GB/s, "
        "reads plus writes\n",
        reference.side, reference.flops_per_s() * 1e-12,
        result["copies"]["within_the_gpu"]["bytes_per_s"].get<double>() * 1e-9);
    result["products"] = Json::array();
    for (const Projection& projection : work.projections) {
        for (const MatmulPass pass : matmul_passes)
            result["products"].push_back(
                matmul_json(stream, work.rounds, projection, pass, reference.flops_per_s()));
    }
    result["joined"] = Json::array();
    for (const FusedCase& one : work.fused_cases)
        for (const Json& variants : measure_fused_matmuls(stream, work.rounds, one))
            result["joined"].push_back(variants);
    return result;
}

}  // namespace trireme::perf
