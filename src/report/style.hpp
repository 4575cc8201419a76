// How the page looks: in light and dark, on paper, on a narrow screen.
#pragma once

namespace trireme::report {

const char* style_sheet();  // CSS

}  // namespace trireme::report
