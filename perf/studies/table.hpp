// Writes a study's table and charts from the rows of its points.
#pragma once

#include <vector>

#include "row.hpp"

namespace trireme::studies {

struct TableRow {
    const Point* point = nullptr;
    Row row = {};
};

// Writes OUTPUT/NAME.csv and, for each chart, OUTPUT/NAME-FIGURE.svg. The first line of the table is a comment
// with the command, and its column "program" names the version that ran each row. `points` are all points of
// the study: the options that their axes set are the columns, even if some points have no row.
void write_table(const Study& study, const std::vector<Point>& points, const std::vector<TableRow>& rows,
                 const std::filesystem::path& output);

}  // namespace trireme::studies
