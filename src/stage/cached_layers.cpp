#include "stage/cached_layers.hpp"

#include <algorithm>
#include <map>

#include "stage/sample_selection.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/trace.hpp"
#include "trireme/kernels/charge_copy.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::stage {
namespace {

// A matmul of fewer rows may round differently on one thread, as measured with oneDNN 2.6. A selection has at
// least this many rows if the micro-batch has them.
constexpr std::size_t min_rows = 16;

constexpr const char* written = "write to cache";  // in traces

class CachedLayers {
public:
    CachedLayers(const Stage& stage, const CacheUse& use, const model::Pass& pass, device::ConstTensor input,
                 ActivationStash& stash, Workspace& workspace, const PassEvents& events)
        : stage_(stage),
          use_(use),
          pass_(pass),
          samples_(pass.batch.segments.size()),
          input_(input),
          stash_(stash),
          workspace_(workspace),
          events_(events) {}

    device::Tensor run() {
        const std::size_t stash_begin = stash_.arena.mark();
        all_rows_ = stash_.arena.tensor(pass_.dtype, pass_.batch.rows(), stage_.width());
        clear_padding();
        const std::vector<int> depths = read_samples();
        count(depths);
        if (std::ranges::all_of(depths, [](int depth) { return depth == 0; })) {
            stash_.arena.release(stash_begin);
            const device::Tensor output = compute_all();
            charge_copies();
            return output;
        }
        std::map<int, std::vector<std::size_t>> samples_of_depth;
        for (std::size_t s = 0; s < samples_; ++s)
            if (depths[s] < use_.cache.depth()) samples_of_depth[depths[s]].push_back(s);
        for (const auto& [depth, samples] : samples_of_depth) compute(depth, samples);
        charge_copies();
        return view_own_rows(pass_, all_rows_);
    }

private:
    cache::SampleKey make_key(std::size_t sample) const {
        const auto visit = static_cast<std::uint64_t>(pass_.batch.segments[sample].sample);
        return {use_.split, visit % use_.cache.places().count_samples(use_.split)};
    }

    template <class View>
    View view_sample(const View& all_rows, std::size_t sample) const {
        const kernels::Segment& segment = pass_.batch.segments[sample];
        return all_rows.row_range(segment.begin, segment.length);
    }

    // Reads a sample to its rows and returns its depth; 0 if there is no entry with which this stage can begin.
    int read(std::size_t sample) {
        const device::Tensor rows = view_sample(all_rows_, sample);
        const int depth = use_.cache.read(make_key(sample), rows);
        if (depth > 0) count_copy(rows.bytes());
        return depth > 0 && stage_.find_next_layer(depth) ? depth : 0;
    }

    // Returns the depth of each sample, which is equal on all ranks of the team. Another team may replace an
    // entry while this team reads it, and ranks on different nodes may have different entries. The team
    // computes such samples.
    std::vector<int> read_samples() {
        std::vector<int> depths(samples_);
        {
            const device::TraceSpan span(pass_.stream.trace, device::TraceLane::kernels, "read from cache");
            for (std::size_t s = 0; s < samples_; ++s) depths[s] = read(s);
        }
        if (pass_.group == nullptr) return depths;
        const std::vector<double> own_depths(depths.begin(), depths.end());
        const std::vector<double> gathered = all_gather(pass_.group->communicator, own_depths);
        for (std::size_t i = 0; i < gathered.size(); ++i)
            if (gathered[i] != gathered[i % samples_]) depths[i % samples_] = 0;
        return depths;
    }

    // Counts the samples that the cache has, and the part of the layers that is not computed.
    void count(const std::vector<int>& depths) {
        double cached_layers = 0;
        for (const int depth : depths) {
            ++(depth > 0 ? pass_.stream.cache_visits.hits : pass_.stream.cache_visits.misses);
            if (depth > 0) cached_layers += static_cast<double>(*stage_.find_next_layer(depth));
        }
        if (samples_ > 0) cached_layers /= static_cast<double>(samples_);
        pass_.stream.layer_passes.cached += cached_layers;
        pass_.stream.layer_passes.forward -= cached_layers;
    }

    void clear_padding() {
        std::size_t rows = 0;
        for (const kernels::Segment& segment : pass_.batch.segments) rows += segment.length;
        if (rows < pass_.batch.rows()) launch(pass_.stream, kernels::Fill{.output = all_rows_, .value = 0});
    }

    // Computes the whole micro-batch, as without a cache.
    device::Tensor compute_all() {
        const device::Tensor output = stage_.run_frozen_layers(pass_, 0, input_, stash_, workspace_, events_);
        const device::ArenaScope scope(stash_.arena);
        const device::ConstTensor all_rows = gather_all_rows(pass_, output, stash_.arena);
        const device::TraceSpan span(pass_.stream.trace, device::TraceLane::kernels, written);
        for (std::size_t s = 0; s < samples_; ++s) write(s, view_sample(all_rows, s));
        return output;
    }

    // Computes the frozen layers after the first `depth` blocks for `samples`; 0 for all layers.
    void compute(int depth, std::vector<std::size_t> samples) {
        const device::ArenaScope scope(stash_.arena);
        const std::size_t computed = samples.size();
        add_samples(samples);
        const SampleSelection selection(pass_.batch, samples, stash_.arena);
        const model::Pass pass = make_pass(selection);
        const std::size_t first_layer = depth == 0 ? 0 : *stage_.find_next_layer(depth);
        const device::ConstTensor input = select_input(depth, selection, pass);
        const device::Tensor output =
            stage_.run_frozen_layers(pass, first_layer, input, stash_, workspace_, events_);
        const device::ConstTensor rows = gather_all_rows(pass, output, stash_.arena);
        selection.scatter(rows, all_rows_, computed);
        const device::TraceSpan span(pass_.stream.trace, device::TraceLane::kernels, written);
        for (std::size_t s = 0; s < computed; ++s) write(samples[s], view_sample(all_rows_, samples[s]));
    }

    void write(std::size_t sample, const device::ConstTensor& rows) {
        if (use_.cache.write(make_key(sample), rows)) count_copy(rows.bytes());
    }

    void count_copy(std::size_t bytes) {
        ++copies_;
        copied_bytes_ += static_cast<double>(bytes);
    }

    // Advances the simulated time by that of the copies between the device and the cache.
    void charge_copies() {
        if (!pass_.stream.predict_seconds || copies_ == 0) return;
        const layout::Link& link = use_.simulated_link;
        if (link.bandwidth > 0)
            device::idle_for(copies_ * link.latency + copied_bytes_ / link.bandwidth);
        else
            kernels::charge_copy(pass_.stream, 2 * copied_bytes_);
    }

    // Adds samples whose results are not used, until there are min_rows rows.
    void add_samples(std::vector<std::size_t>& samples) const {
        std::size_t rows = 0;
        for (const std::size_t s : samples) rows += pass_.batch.segments[s].length;
        for (std::size_t s = 0; s < samples_ && rows < min_rows; ++s) {
            if (std::ranges::find(samples, s) != samples.end()) continue;
            samples.push_back(s);
            rows += pass_.batch.segments[s].length;
        }
    }

    model::Pass make_pass(const SampleSelection& selection) const {
        return {.stream = pass_.stream,
                .batch = selection.batch(),
                .scratch = pass_.scratch,
                .dtype = pass_.dtype,
                .group = pass_.group};
    }

    // Returns the own rows of the samples at the input of the first layer that is computed; absent for the
    // first layer of the model.
    device::ConstTensor select_input(int depth, const SampleSelection& selection, const model::Pass& pass) {
        if (depth == 0 && stage_.is_first()) return {};
        const device::Tensor selected = stash_.arena.tensor(pass.dtype, pass.batch.rows(), stage_.width());
        const device::ArenaScope scope(stash_.arena);
        selection.gather(depth == 0 ? gather_all_rows(pass_, input_, stash_.arena) : all_rows_, selected);
        return view_own_rows(pass, selected);
    }

    const Stage& stage_;
    const CacheUse& use_;
    const model::Pass& pass_;
    const std::size_t samples_;
    device::ConstTensor input_;
    ActivationStash& stash_;
    Workspace& workspace_;
    const PassEvents& events_;
    double copies_ = 0;  // samples that were read or written
    double copied_bytes_ = 0;
    device::Tensor all_rows_ = {};  // the rows of the micro-batch at the output of the frozen layers
};

}  // namespace

// While samples are computed apart, the stash holds the rows of all samples, the inputs of the model for these
// samples, and their rows before and after the layers. With sequence parallelism, the latter are gathered.
std::size_t count_stash_bytes_with_cache(const model::ModelConfig& model, const BatchShape& batch,
                                         const PassVariant& variant) {
    const std::size_t row_bytes = round_up_to_cache_lines(batch.rows * model.width * byte_size(variant.dtype));
    device::Arena inputs("input", 0, device::MemorySpace::ghost);
    make_ghost_batch(model, {.segments = batch.segments, .rows = batch.rows, .predicted_rows = 0}, inputs);
    return inputs.peak() + (variant.cuts_rows ? 4 : 3) * row_bytes;
}

device::Tensor run_with_cache(const Stage& stage, const CacheUse& use, const model::Pass& pass,
                              device::ConstTensor input, ActivationStash& stash, Workspace& workspace,
                              const PassEvents& events) {
    return CachedLayers(stage, use, pass, input, stash, workspace, events).run();
}

}  // namespace trireme::stage
