#include "trireme/setup/stage_work.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/model/model.hpp"

namespace trireme::setup {
namespace {

using Counts = std::array<long double, plan::LinearQuantity::terms>;

// Returns the counts of a shape, in the order of LinearQuantity::factors.
Counts list_counts(const plan::MicrobatchShape& shape) {
    Counts counts{1};
    const std::array values{shape.samples, shape.rows, shape.tokens, shape.square_length_sum,
                            shape.predicted_rows};
    std::ranges::transform(values, counts.begin() + 1,
                           [](std::size_t value) { return static_cast<long double>(value); });
    return counts;
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

// Finds a quantity as a linear function of the counts of a shape. The function is determined by the values of
// the quantity for several shapes, the probes.
class LinearFit {
public:
    // n probes determine the first n terms of LinearQuantity::factors; the other factors are 0. The two probes
    // of images thus determine the constant term and the factor of the number of samples.
    explicit LinearFit(const std::vector<stage::BatchShape>& probes) : size_(probes.size()) {
        for (std::size_t row = 0; row < size_; ++row) {
            const Counts counts = list_counts(count_shape(probes[row]));
            std::copy_n(counts.begin(), size_, matrix_[row].begin());
            inverse_[row][row] = 1;
        }
        invert();
    }

    // `find_value(p)` returns the value of the quantity for probe number p, from 0. Factors are rounded to
    // multiples of 1 / 64, so that rounding errors do not make equal functions differ.
    template <class FindValue>
    plan::LinearQuantity find_quantity(FindValue&& find_value) const {
        constexpr long double resolution = 64;
        plan::LinearQuantity quantity;
        for (std::size_t term = 0; term < size_; ++term) {
            long double factor = 0;
            for (std::size_t p = 0; p < size_; ++p)
                factor += inverse_[term][p] * static_cast<long double>(find_value(p));
            quantity.factors[term] = static_cast<double>(std::round(factor * resolution) / resolution);
        }
        return quantity;
    }

private:
    // Gauss-Jordan elimination with row exchanges.
    void invert() {
        for (std::size_t column = 0; column < size_; ++column) {
            std::size_t pivot = column;
            for (std::size_t row = column; row < size_; ++row)
                if (std::abs(matrix_[row][column]) > std::abs(matrix_[pivot][column])) pivot = row;
            std::swap(matrix_[column], matrix_[pivot]);
            std::swap(inverse_[column], inverse_[pivot]);
            scale_row(column, 1 / matrix_[column][column]);
            for (std::size_t row = 0; row < size_; ++row)
                if (row != column) add_row(column, row, -matrix_[row][column]);
        }
    }
    void scale_row(std::size_t row, long double factor) {
        for (long double& value : matrix_[row]) value *= factor;
        for (long double& value : inverse_[row]) value *= factor;
    }
    void add_row(std::size_t source, std::size_t destination, long double factor) {
        for (std::size_t column = 0; column < size_; ++column) {
            matrix_[destination][column] += factor * matrix_[source][column];
            inverse_[destination][column] += factor * inverse_[source][column];
        }
    }

    std::size_t size_;
    std::array<Counts, plan::LinearQuantity::terms> matrix_{};   // [probe][term]
    std::array<Counts, plan::LinearQuantity::terms> inverse_{};  // [term][probe]
};

using KernelList = std::vector<stage::PassKernel>;
using KernelLists = std::vector<KernelList>;  // one per probe

bool has_equal_name(const stage::PassKernel& a, const stage::PassKernel& b) {
    return a.cost.kernel == b.cost.kernel;
}

// Fits a formula to each kernel of a pass. Throws BugError unless every probe calls the same kernels.
std::vector<plan::KernelFormula> fit_kernels(const KernelLists& lists, const LinearFit& fit) {
    for (const KernelList& list : lists) {
        if (!std::ranges::equal(list, lists.front(), has_equal_name))
            throw BugError("micro-batches of similar shapes call different kernels");
    }
    std::vector<plan::KernelFormula> formulas;
    for (std::size_t k = 0; k < lists.front().size(); ++k) {
        const auto fit_quantity = [&](auto&& find_quantity) {
            return fit.find_quantity([&](std::size_t p) { return find_quantity(lists[p][k].cost); });
        };
        plan::KernelFormula& formula = formulas.emplace_back();
        formula.kernel = lists.front()[k].cost.kernel;
        formula.is_block_matmul = lists.front()[k].is_block_matmul;
        formula.flops = fit_quantity([](const device::Cost& cost) { return cost.flops; });
        formula.bytes = fit_quantity([](const device::Cost& cost) { return cost.bytes; });
        for (std::size_t d = 0; d < formula.matmul.size(); ++d)
            formula.matmul[d] = fit_quantity([&](const device::Cost& cost) { return cost.matmul[d]; });
    }
    return formulas;
}

// Marks the kernels that are called once per tile. The head processes the rows with a target in tiles, so that
// the logits of one tile are in memory at a time. `one_tile` has
// the kernels of a micro-batch with one tile. `two_tiles` has the kernels of a micro-batch with two tiles,
// among them the kernels of a tile twice in succession.
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

// Derives the formulas of one stage.
class FormulaFinder {
public:
    FormulaFinder(const model::ModelConfig& model, const stage::StageSpec& spec,
                  const stage::PassVariant& variant)
        : model_(model), spec_(spec), variant_(variant) {
        for (const model::Layer& layer : build_layers(model, spec.part, spec.layers)) {
            if (const auto* const head = std::get_if<model::Head>(&layer))
                max_tile_rows_ = head->max_tile_rows(variant.dtype);
            // A micro-batch reads at most all rows of an embedding table, so that the bytes read stop growing
            // at this number of rows.
            if (!std::holds_alternative<model::EmbeddingLayer>(layer)) continue;
            for (const model::ParameterSpec& table : list_parameters(layer))
                if (table.rows > 1) row_limits_.insert(table.rows);
        }
        if (!has_vocabulary_tiles()) return;
        const std::size_t rows = count_tensor_ranks();
        if (max_tile_rows_ < std::max<std::size_t>(2, rows))
            throw ConfigError(cat("the head of ", model.name, " computes the logits of only ",
                                  format_count(max_tile_rows_, "row"),
                                  " at a time, too few to predict the time of the head for ",
                                  format_count(rows, "tensor rank"), "; use a smaller --vocabulary"));
        all_predicted_ = list_work(make_shape({rows}, rows, rows));
        const std::size_t rows_of_two_tiles = (max_tile_rows_ / rows + 2) * rows;
        two_tiles_ = list_work(make_shape({rows}, rows_of_two_tiles, max_tile_rows_ + 1));
    }

    plan::StageWork find() const {
        std::vector<plan::TrainingFormulas> formulas;
        std::size_t min_rows = 0;
        for (const std::size_t max_rows : row_limits_) {
            formulas.push_back(find_formulas(min_rows, max_rows));
            min_rows = max_rows;
        }
        return {std::move(formulas), max_tile_rows_};
    }

private:
    static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

    // An image has only one row with a target, so all rows with a target of a micro-batch fit in one tile.
    bool has_vocabulary_tiles() const { return max_tile_rows_ < unlimited && !model_.reads_images(); }
    std::size_t count_tensor_ranks() const { return spec_.part.shares.size(); }

    stage::TrainingWork list_work(const stage::BatchShape& shape) const {
        return stage::list_work(model_, spec_, shape, variant_);
    }

    // Returns the formulas for shapes with more than `min_rows` and at most `max_rows` rows.
    plan::TrainingFormulas find_formulas(std::size_t min_rows, std::size_t max_rows) const {
        const std::vector<stage::BatchShape> shapes = model_.reads_images()
                                                          ? make_image_probes(model_)
                                                          : make_text_probes(min_rows, count_tensor_ranks());
        const LinearFit fit(shapes);
        std::vector<stage::TrainingWork> probes;
        for (const stage::BatchShape& shape : shapes) probes.push_back(list_work(shape));
        const auto find_pass = [&](stage::PassWork stage::TrainingWork::*pass) {
            KernelLists lists;
            for (const stage::TrainingWork& work : probes) lists.push_back((work.*pass).kernels);
            std::vector<plan::KernelFormula> kernels = fit_kernels(lists, fit);
            if (has_vocabulary_tiles()) {
                mark_tile(lists.front(), (two_tiles_.*pass).kernels, kernels);
                mark_partial_targets((all_predicted_.*pass).kernels, kernels);
            }
            return plan::PassFormula{
                .kernels = merge_calls(kernels),
                .bytes_sent = fit.find_quantity([&](std::size_t p) { return (probes[p].*pass).bytes_sent; }),
                .messages_sent =
                    fit.find_quantity([&](std::size_t p) { return (probes[p].*pass).messages_sent; }),
                .messages_sent_per_tile = has_vocabulary_tiles()
                                              ? static_cast<double>((two_tiles_.*pass).messages_sent) -
                                                    static_cast<double>((probes.front().*pass).messages_sent)
                                              : 0};
        };
        return {.max_rows = max_rows,
                .forward = find_pass(&stage::TrainingWork::forward),
                .backward = find_pass(&stage::TrainingWork::backward),
                .backward_input = find_pass(&stage::TrainingWork::backward_input),
                .backward_weight = find_pass(&stage::TrainingWork::backward_weight)};
    }

    const model::ModelConfig& model_;
    const stage::StageSpec& spec_;
    const stage::PassVariant& variant_;
    std::size_t max_tile_rows_ = unlimited;
    std::set<std::size_t> row_limits_{unlimited};
    stage::TrainingWork all_predicted_;  // of a micro-batch in which every row has a target
    stage::TrainingWork two_tiles_;      // of a micro-batch with two tiles of logits
};

// Returns a text that is equal for stages with equal work. The text has the kinds of the layers, a mark if the
// stage is the first one, the rank's position in its team, the team's shares and the recomputation. If layers
// of the model are frozen, the text also has the number of frozen layers of the stage. If the team has
// migrations, the text also has the first rank of the team.
std::string make_key(const model::ModelConfig& model, const stage::StageSpec& spec,
                     const std::vector<layout::Migration>& migrations, int first_rank) {
    std::string key;
    for (const model::Layer& layer : build_layers(model, spec.part, spec.layers))
        key += cat(find_kind(layer), ' ');
    key += cat(spec.layers.begin == 0 ? "first " : "", "rank ", spec.part.rank, " of");
    for (const std::size_t share : spec.part.shares) key += cat(' ', share);
    if (spec.first_trained_layer > 0)
        key += cat(" frozen ", std::clamp(spec.first_trained_layer, spec.layers.begin, spec.layers.end()) -
                                   spec.layers.begin);
    return cat(key, ' ', to_string(spec.recompute),
               migrations.empty() ? "" : cat(" team of rank ", first_rank));
}

}  // namespace

plan::MicrobatchShape count_shape(const stage::BatchShape& shape) {
    plan::MicrobatchShape counts{.samples = shape.segments.size(),
                                 .rows = shape.rows,
                                 .predicted_rows = shape.predicted_rows.value_or(shape.rows)};
    for (const kernels::Segment& segment : shape.segments) {
        counts.tokens += segment.length;
        counts.square_length_sum += segment.length * segment.length;
    }
    return counts;
}

plan::KernelSeconds adapt_kernel_seconds(device::KernelTimePredictor predict_seconds, double speed) {
    return
        [predict = std::move(predict_seconds), speed](std::string_view kernel, const plan::KernelCall& call) {
            return predict({.kernel = kernel, .flops = call.flops, .bytes = call.bytes, .matmul = call.matmul},
                           speed);
        };
}

plan::StageWork derive_stage_work(const model::ModelConfig& model, const stage::StageSpec& spec,
                                  const stage::PassVariant& variant) {
    return FormulaFinder(model, spec, variant).find();
}

const plan::StageWork& StageWorks::find(const stage::StageSpec& spec,
                                        const std::vector<layout::Migration>& migrations, int first_rank) {
    const std::string key = make_key(model_, spec, migrations, first_rank);
    const auto known = work_by_key_.find(key);
    if (known != work_by_key_.end()) return known->second;
    const stage::PassVariant variant{.dtype = dtype_,
                                     .cuts_rows = cuts_rows_,
                                     .resizing_limit = resizing_limit_,
                                     .migrations = migrations,
                                     .spread = spread_};
    return work_by_key_.emplace(key, derive_stage_work(model_, spec, variant)).first->second;
}

}  // namespace trireme::setup
