// Measures how fast a checkpoint of GPT-2 (124M) with its moments is saved and loaded:
//   perf_checkpoint FOLDER > checkpoint.json
// The time for which a save stalls training is compared with a step of 4 x 64 tokens and a step of 4 x 512
// tokens. The speed of loading is compared with the speed of the disk. FOLDER is on the disk to be measured and
// needs three gigabytes of free space.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "provenance.hpp"
#include "rank/running_state.hpp"
#include "run/saving.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/rank/specimen.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "whole_model.hpp"

namespace trireme {
namespace {

namespace fs = std::filesystem;

constexpr int loads = 5;  // number of measured loads

// Tokens per sample, and the number of measured steps: `repeats` steps with a save, and `repeats` without.
struct Shape {
    std::size_t length;
    int repeats;
};
constexpr std::array<Shape, 2> shapes{{{64, 5}, {512, 3}}};
constexpr std::size_t samples = 4;

double measure_seconds(const std::function<void()>& work) {
    const double begin = device::now_seconds();
    work();
    return device::now_seconds() - begin;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

config::RunConfig config_of(std::size_t length) {
    config::RunConfig config;
    config.model.name = "gpt2";
    config.model.dropout = 0;
    config.data.max_length = length;
    config.run.batch = samples;
    config.run.threads = 1;
    return config;
}

stage::BatchShape make_shape(const model::TokenBatch& batch) {
    return {.segments = {batch.segments.begin(), batch.segments.end()}, .rows = batch.rows()};
}

// The training of one rank, with its checkpoints.
class Bench {
public:
    Bench(const fs::path& folder, std::size_t length)
        : specimen_(config_of(length)),
          memory_(predict(specimen_.model(), device::DType::f32, make_shape(specimen_.batch()))),
          model_(specimen_.model(), device::DType::f32, device::MemorySpace::host, memory_),
          optimizer_({}, model_.parameters(), optim::make_whole_shards(model_.parameters()), device::DType::f32,
                     device::MemorySpace::host),
          folder_(folder / "checkpoints"),
          saving_(plan(), comm::make_single_rank_group("saving"), [] {}) {
        initialize_parameters(stream_, model_.parameters(), model_.values(), 1);
    }

    double step() {
        return measure_seconds([&] {
            model_.forward_backward(stream_, specimen_.batch(), {});
            saving_.wait_for_copy();
            optimizer_.update(stream_, model_.values(), model_.gradients(), 1e-4, 1);
        });
    }

    // Begins a save of the current state, runs a step during the save, and progresses the save. Returns the
    // seconds of the step alone, which include the wait for the copy of the state.
    double step_with_save(std::uint64_t number) {
        checkpoint::UpdateCounts updates;
        for (const model::ParameterSpec& spec : model_.parameters()) updates[spec.name] = number;
        saving_.begin(number, {.facts = "{}", .views = views(), .updates = std::move(updates)}, false);
        const double seconds = step();
        saving_.advance();
        return seconds;
    }

    void finish() { saving_.finish(); }
    double stall_seconds() const { return saving_.stall_seconds(); }

    // Bytes of the checkpoint: the values and two moments.
    std::size_t bytes() const { return 3 * model_.values().bytes(); }

    // Loads all fields of all tensors, replacing the current values.
    void load() { checkpoint::StoredModel::open(folder_).read(views(), 1); }

    // Lists the data files of the newest checkpoint.
    std::vector<fs::path> parts() const {
        const fs::path newest = checkpoint::find_newest_checkpoint(folder_).value();
        std::vector<fs::path> all;
        for (const std::string& name : archive::list_names(newest))
            if (name.starts_with("part-")) all.push_back(newest / name);
        return all;
    }

private:
    run::SavingConfig plan() const {
        run::SavingConfig plan{
            .checkpoints = folder_, .run_id = "0badcafe", .max_checkpoints = 1, .description = {}, .state = {}};
        std::vector<checkpoint::CheckpointTensor> tensors;
        for (const model::ParameterSpec& spec : model_.parameters())
            tensors.push_back(
                checkpoint::make_checkpoint_tensor(spec, archive::StoredType::f32, archive::StoredType::f32));
        plan.description.config = make_config_text(specimen_.model(), tensors);
        plan.state = make_checkpoint_state(plan.description, std::move(tensors));
        plan.state.moments = 2;
        checkpoint::CheckpointPart& part = plan.state.parts.emplace_back();
        for (std::size_t t = 0; t < plan.state.tensors.size(); ++t)
            part.boxes.push_back({t, {{0, plan.state.tensors[t].rows}, {0, plan.state.tensors[t].columns}}});
        return plan;
    }

    std::vector<checkpoint::StateView> views() const {
        std::vector<checkpoint::StateView> views;
        for (std::size_t p = 0; p < model_.parameters().size(); ++p) {
            const model::ParameterSpec& spec = model_.parameters()[p];
            const layout::Box all{{0, spec.rows}, {0, spec.columns}};
            add_views(views, spec, checkpoint::StateField::value, all, model_.values()[p]);
            add_views(views, spec, checkpoint::StateField::moment1, all, optimizer_.state()[0][p]);
            add_views(views, spec, checkpoint::StateField::moment2, all, optimizer_.state()[1][p]);
        }
        return views;
    }

    rank::Specimen specimen_;
    device::Stream stream_ = specimen_.stream();
    stage::StageMemory memory_;
    stage::WholeModel model_;
    optim::Optimizer optimizer_;
    fs::path folder_;
    run::Saving saving_;
};

// Drops the file from the page cache.
void forget(const fs::path& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    ::fdatasync(descriptor);
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    ::close(descriptor);
}

// Reads a file in large blocks, as dd does. `extra_flags` may be O_DIRECT, to bypass the page cache.
void read_raw(const fs::path& path, int extra_flags = 0) {
    constexpr std::size_t block = std::size_t{8} << 20;
    const device::Buffer memory(block, device::MemorySpace::host);
    const int descriptor = ::open(path.c_str(), O_RDONLY | extra_flags);
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    while (::read(descriptor, memory.data(), block) > 0) continue;
    ::close(descriptor);
}

// Measures the hash rate of one core. Hashes sixteen blocks at a time, as a load does.
double measure_hash_rate() {
    constexpr std::size_t block = std::size_t{1} << 20;
    const std::vector<std::vector<std::byte>> memory(16, std::vector<std::byte>(block));
    const std::vector<std::span<const std::byte>> blocks(memory.begin(), memory.end());
    std::vector<double> seconds;
    for (int r = 0; r < 2 * loads; ++r) seconds.push_back(measure_seconds([&] { Sha256::hash_each(blocks); }));
    return static_cast<double>(blocks.size() * block) / median(seconds);
}

nlohmann::ordered_json measure_saving(Bench& bench, const Shape& shape) {
    bench.step();
    std::vector<double> plain, saving;
    for (int r = 0; r < shape.repeats; ++r) {
        plain.push_back(bench.step());
        saving.push_back(bench.step_with_save(static_cast<std::uint64_t>(r + 1)));
        bench.finish();
    }
    const double stall = bench.stall_seconds() / shape.repeats;
    return {{"tokens", cat(samples, " x ", shape.length)},
            {"step_s", median(plain)},
            {"step_while_saving_s", median(saving)},
            {"step_while_saving_to_step", median(saving) / median(plain)},
            {"by_repeat", {{"step_s", plain}, {"step_while_saving_s", saving}}},
            {"stall_s", stall},
            {"stall_of_step", {{"value", stall / median(plain)}, {"limit", 0.02}}}};
}

// Alternates between reading the files and loading the checkpoint, so that other load on the machine affects
// both equally.
nlohmann::ordered_json measure_loading(Bench& bench) {
    const std::vector<fs::path> parts = bench.parts();
    const auto seconds_without_cache = [&](const std::function<void()>& work) {
        for (const fs::path& part : parts) forget(part);
        return measure_seconds(work);
    };
    std::vector<double> raw, direct, loaded;
    for (int r = 0; r < loads; ++r) {
        raw.push_back(seconds_without_cache([&] {
            for (const fs::path& part : parts) read_raw(part);
        }));
        direct.push_back(seconds_without_cache([&] {
            for (const fs::path& part : parts) read_raw(part, O_DIRECT);
        }));
        loaded.push_back(seconds_without_cache([&] { bench.load(); }));
    }
    const auto bytes = static_cast<double>(bench.bytes());
    return {{"bytes", bench.bytes()},
            {"disk_bytes_per_s", bytes / median(raw)},
            {"disk_past_the_cache_bytes_per_s", bytes / median(direct)},
            {"sum_bytes_per_s_of_a_core", measure_hash_rate()},
            {"load_bytes_per_s", bytes / median(loaded)},
            {"load_of_disk", {{"value", median(raw) / median(loaded)}, {"limit", 0.8}}}};
}

nlohmann::ordered_json measure(const fs::path& folder, const nlohmann::ordered_json& origin) {
    nlohmann::ordered_json saving = nlohmann::ordered_json::array();
    nlohmann::ordered_json loading;
    for (const Shape& shape : shapes) {
        Bench bench(folder, shape.length);
        saving.push_back(measure_saving(bench, shape));
        // The checkpoint does not depend on the shape of the steps, so one measurement suffices.
        if (loading.empty()) loading = measure_loading(bench);
    }
    return {{"provenance", origin},
            {"processor", device::read_processor_name()},
            {"saving", saving},
            {"loading", loading}};
}

}  // namespace
}  // namespace trireme

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: perf_checkpoint FOLDER > checkpoint.json\n";
        return 2;
    }
    std::cout << trireme::measure(argv[1], trireme::perf::provenance(argc, argv)).dump(2) << '\n';
    return 0;
}
