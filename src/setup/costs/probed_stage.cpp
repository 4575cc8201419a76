#include "setup/costs/probed_stage.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/model/model.hpp"
#include "trireme/setup/stage_work.hpp"

namespace trireme::setup {
namespace {

// Returns the passes of plan::TrainingFormulas and of stage::TrainingWork.
constexpr auto list_passes() {
    return std::array{
        std::pair(&plan::TrainingFormulas::forward, &stage::TrainingWork::forward),
        std::pair(&plan::TrainingFormulas::backward, &stage::TrainingWork::backward),
        std::pair(&plan::TrainingFormulas::backward_input, &stage::TrainingWork::backward_input),
        std::pair(&plan::TrainingFormulas::backward_weight, &stage::TrainingWork::backward_weight)};
}

stage::BatchShape make_shape(const std::vector<std::size_t>& lengths, std::size_t rows,
                             std::size_t predicted_rows) {
    stage::BatchShape shape{.segments = {}, .rows = rows, .predicted_rows = predicted_rows};
    std::size_t begin = 0;
    for (const std::size_t length : lengths) {
        shape.segments.push_back({.begin = begin, .length = length});
        begin += length;
    }
    return shape;
}

// Returns shapes with padding and more than `min_rows` rows. Their counts are linearly independent. With
// sequence parallelism, each of `tensor_ranks` ranks holds an equal number of rows.
std::vector<stage::BatchShape> make_text_probes(std::size_t min_rows, std::size_t tensor_ranks) {
    const std::size_t unit = tensor_ranks;
    const std::size_t length = 4 * unit;
    const std::size_t rows = (min_rows / unit + 1) * unit + 3 * length;
    return {make_shape({length, length}, rows, 1),
            make_shape({length - unit, length + unit}, rows, 1),  // greater sum of squares
            make_shape({length + unit, length}, rows, 1),         // more tokens
            make_shape({length, length - unit, unit}, rows, 1),   // more samples
            make_shape({length, length}, rows + unit, 1),         // more rows
            make_shape({length, length}, rows, 2)};               // more rows with a target
}

// Returns the shapes of a micro-batch of one image and of a micro-batch of two images. Every count is
// proportional to the number of images.
std::vector<stage::BatchShape> make_image_probes(const model::ModelConfig& model) {
    return {make_shape({model.positions}, model.positions, 1),
            make_shape({model.positions, model.positions}, 2 * model.positions, 2)};
}

// Returns the shape of a micro-batch in which every row has a target, and of one with two tiles of logits.
std::vector<stage::BatchShape> make_tile_probes(std::size_t tensor_ranks, std::size_t max_tile_rows) {
    const std::size_t rows_of_two_tiles = (max_tile_rows / tensor_ranks + 2) * tensor_ranks;
    return {make_shape({tensor_ranks}, tensor_ranks, tensor_ranks),
            make_shape({tensor_ranks}, rows_of_two_tiles, max_tile_rows + 1)};
}

using KernelList = std::vector<stage::PassKernel>;

bool has_equal_name(const stage::PassKernel& a, const stage::PassKernel& b) {
    return a.cost.kernel == b.cost.kernel;
}

// Fits a formula to each kernel of a pass. `probes` has the work of each probe. Throws BugError unless every
// probe calls the same kernels.
std::vector<plan::KernelFormula> fit_kernels(std::span<const stage::TrainingWork> probes,
                                             stage::PassWork stage::TrainingWork::*pass, const LinearFit& fit) {
    const KernelList& first = (probes.front().*pass).kernels;
    for (const stage::TrainingWork& probe : probes) {
        if (!std::ranges::equal((probe.*pass).kernels, first, has_equal_name))
            throw BugError("micro-batches of similar shapes call different kernels");
    }
    std::vector<plan::KernelFormula> formulas;
    for (std::size_t k = 0; k < first.size(); ++k) {
        const auto fit_quantity = [&](auto&& find_quantity) {
            return fit.find_quantity(
                [&](std::size_t p) { return find_quantity((probes[p].*pass).kernels[k].cost); });
        };
        plan::KernelFormula& formula = formulas.emplace_back();
        formula.kernel = first[k].cost.kernel;
        formula.is_block_matmul = first[k].is_block_matmul;
        formula.flops = fit_quantity([](const device::Cost& cost) { return cost.flops; });
        formula.bytes = fit_quantity([](const device::Cost& cost) { return cost.bytes; });
        for (std::size_t d = 0; d < formula.matmul.size(); ++d)
            formula.matmul[d] = fit_quantity([&](const device::Cost& cost) { return cost.matmul[d]; });
    }
    return formulas;
}

// Marks the kernels that are called once per tile. The head processes the rows with a target in tiles, so that
// the logits of one tile are in memory at a time. `one_tile` has the kernels of a micro-batch with one tile.
// `two_tiles` has the kernels of a micro-batch with two tiles, among them the kernels of a tile twice in
// succession.
void mark_tile(const KernelList& one_tile, const KernelList& two_tiles,
               std::vector<plan::KernelFormula>& formulas) {
    const auto difference = std::ranges::mismatch(one_tile, two_tiles, has_equal_name).in1;
    const auto end = static_cast<std::size_t>(difference - one_tile.begin());
    for (std::size_t k = end - (two_tiles.size() - one_tile.size()); k < end; ++k)
        formulas[k].is_in_tiles = true;
}

// Marks the kernels that are called only if some rows have no target. `all_predicted` are the kernels of a
// micro-batch in which every row has a target.
void mark_partial_targets(const KernelList& all_predicted, std::vector<plan::KernelFormula>& formulas) {
    auto next = all_predicted.begin();
    for (plan::KernelFormula& formula : formulas) {
        formula.is_for_partial_targets = next == all_predicted.end() || next->cost.kernel != formula.kernel;
        if (!formula.is_for_partial_targets) ++next;
    }
    if (next != all_predicted.end()) throw BugError("a micro-batch with all targets calls other kernels");
}

// Returns the formulas, with equal calls merged.
std::vector<plan::KernelFormula> merge_calls(const std::vector<plan::KernelFormula>& formulas) {
    std::vector<plan::KernelFormula> merged;
    for (const plan::KernelFormula& formula : formulas) {
        const auto same = std::ranges::find_if(
            merged, [&](const plan::KernelFormula& each) { return each.is_same_call(formula); });
        if (same == merged.end()) {
            merged.push_back(formula);
        } else {
            ++same->calls;
        }
    }
    return merged;
}

}  // namespace

ProbedStage::ProbedStage(const model::ModelConfig& model, const stage::StageSpec& spec,
                         const stage::PassVariant& variant) {
    find_limits(model, spec, variant.dtype);
    const std::size_t ranks = spec.part.shares.size();
    // An image has only one row with a target, so all rows with a target of a micro-batch fit in one tile.
    const bool has_tiles = max_tile_rows_ < unlimited && !model.reads_images();
    if (has_tiles && max_tile_rows_ < std::max<std::size_t>(2, ranks))
        throw ConfigError(cat("the head of ", model.name, " computes the logits of only ",
                              format_count(max_tile_rows_, "row"),
                              " at a time, too few to predict the time of the head for ",
                              format_count(ranks, "tensor rank"), "; use a smaller --vocabulary"));
    std::vector<stage::BatchShape> shapes;
    if (has_tiles) shapes = make_tile_probes(ranks, max_tile_rows_);
    const std::size_t tile_probes = shapes.size();
    std::size_t min_rows = 0;
    for (const std::size_t max_rows : row_limits_) {
        const std::vector<stage::BatchShape> probes =
            model.reads_images() ? make_image_probes(model) : make_text_probes(min_rows, ranks);
        std::vector<plan::MicrobatchShape> counts;
        for (const stage::BatchShape& probe : probes) counts.push_back(count_shape(probe));
        formulas_.push_back({.fit = LinearFit(counts), .kernels = {.max_rows = max_rows}, .messages = {}});
        shapes.insert(shapes.end(), probes.begin(), probes.end());
        min_rows = max_rows;
    }
    std::vector<stage::TrainingWork> works = list_works(model, spec, shapes, variant);
    const std::size_t probes_per_limit = (shapes.size() - tile_probes) / row_limits_.size();
    for (std::size_t limit = 0; limit < row_limits_.size(); ++limit)
        formulas_[limit].fit_work(
            std::span(works).first(tile_probes),
            std::span(works).subspan(tile_probes + limit * probes_per_limit, probes_per_limit));
}

void ProbedStage::Formulas::fit_work(std::span<const stage::TrainingWork> tiles,
                                     std::span<stage::TrainingWork> probes) {
    for (const auto& [formula, pass] : list_passes()) {
        std::vector<plan::KernelFormula> all = fit_kernels(probes, pass, fit);
        if (!tiles.empty()) {
            const stage::PassWork& one_tile = probes.front().*pass;
            const stage::PassWork& two_tiles = tiles[1].*pass;
            mark_tile(one_tile.kernels, two_tiles.kernels, all);
            mark_partial_targets((tiles[0].*pass).kernels, all);
            (kernels.*formula).messages_sent_per_tile =
                static_cast<double>(two_tiles.messages_sent) - static_cast<double>(one_tile.messages_sent);
        }
        (kernels.*formula).kernels = merge_calls(all);
        for (stage::TrainingWork& probe : probes) (probe.*pass).kernels.clear();
    }
    messages.assign(probes.begin(), probes.end());
}

void ProbedStage::find_limits(const model::ModelConfig& model, const stage::StageSpec& spec,
                              device::DType dtype) {
    std::set<std::size_t> row_limits{unlimited};
    for (const model::Layer& layer : build_layers(model, spec.part, spec.layers)) {
        if (const auto* const head = std::get_if<model::Head>(&layer))
            max_tile_rows_ = head->max_tile_rows(dtype);
        // A micro-batch reads at most all rows of an embedding table, so that the bytes read stop growing
        // at this number of rows.
        if (!std::holds_alternative<model::EmbeddingLayer>(layer)) continue;
        for (const model::ParameterSpec& table : list_parameters(layer))
            if (table.rows > 1) row_limits.insert(table.rows);
    }
    row_limits_.assign(row_limits.begin(), row_limits.end());
}

plan::StageWork ProbedStage::make_work() const {
    std::vector<plan::TrainingFormulas> all;
    for (const auto& [fit, kernels, messages] : formulas_) {
        plan::TrainingFormulas& formulas = all.emplace_back(kernels);
        for (const auto& [formula, pass] : list_passes()) {
            (formulas.*formula).bytes_sent =
                fit.find_quantity([&](std::size_t p) { return (messages[p].*pass).bytes_sent; });
            (formulas.*formula).messages_sent =
                fit.find_quantity([&](std::size_t p) { return (messages[p].*pass).messages_sent; });
        }
    }
    return {std::move(all), max_tile_rows_};
}

bool ProbedStage::add_difference(const ProbedStage& more, const ProbedStage& fewer, std::size_t count) {
    if (!calls_same_kernels(more) || !calls_same_kernels(fewer)) return false;
    for (std::size_t limit = 0; limit < formulas_.size(); ++limit) {
        for (const auto& [formula, pass] : list_passes()) {
            std::vector<plan::KernelFormula>& kernels = (formulas_[limit].kernels.*formula).kernels;
            const auto& more_kernels = (more.formulas_[limit].kernels.*formula).kernels;
            const auto& fewer_kernels = (fewer.formulas_[limit].kernels.*formula).kernels;
            for (std::size_t k = 0; k < kernels.size(); ++k)
                kernels[k].calls += count * (more_kernels[k].calls - fewer_kernels[k].calls);
            for (std::size_t p = 0; p < formulas_[limit].messages.size(); ++p) {
                stage::PassWork& sent = formulas_[limit].messages[p].*pass;
                const stage::PassWork& more_sent = more.formulas_[limit].messages[p].*pass;
                const stage::PassWork& fewer_sent = fewer.formulas_[limit].messages[p].*pass;
                sent.bytes_sent += count * (more_sent.bytes_sent - fewer_sent.bytes_sent);
                sent.messages_sent += count * (more_sent.messages_sent - fewer_sent.messages_sent);
            }
        }
    }
    return true;
}

bool ProbedStage::calls_same_kernels(const ProbedStage& other) const {
    if (row_limits_ != other.row_limits_) return false;
    for (std::size_t limit = 0; limit < formulas_.size(); ++limit) {
        for (const auto& [formula, pass] : list_passes()) {
            if (!std::ranges::equal((formulas_[limit].kernels.*formula).kernels,
                                    (other.formulas_[limit].kernels.*formula).kernels,
                                    [](const auto& a, const auto& b) { return a.is_same_call(b); }))
                return false;
        }
    }
    return true;
}

}  // namespace trireme::setup
