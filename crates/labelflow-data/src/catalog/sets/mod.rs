//! The datasets, those of one form in one file, in a folder for what is learned from: tables with classes, images, texts, and tables with
//! real values. A line of `datasets!` is all that there is beside the file.

use crate::catalog::catalog_entry::{CatalogEntry, CatalogFile, Counts, Loader};
use crate::catalog::{LabelledTable, ValueTable};

pub(crate) mod labelled_texts;
mod number_table;

/// Declares the modules of the folders, and lists their entries.
macro_rules! datasets {
    ($($folder:ident { $($module:ident: $($entry:ident),+;)+ })+) => {
        $(pub(crate) mod $folder {
            $(pub(crate) mod $module;)+
        })+

        /// All datasets.
        pub(crate) const ALL: &[CatalogEntry] = &[$($($($folder::$module::$entry,)+)+)+];
    };
}

datasets! {
    classes {
        breast_cancer: ENTRY;
        obs_network: ENTRY;
        cardiotocography: ENTRY;
        number_lines: CLAVE_DIRECTION, CREDIT_CARD, STATLOG_SATELLITE;
        phishing_websites: ENTRY;
        wine_quality: ENTRY;
    }
    images {
        fashion_mnist: DRESS_SNEAKER, SANDAL_BOOT, COAT_BAG;
        digits_planted: ENTRY;
    }
    texts {
        reviews: SST2, IMDB, YELP;
        sms_rules: ENTRY;
    }
    values {
        uci_tables: AIR_QUALITY, TEMPERATURE_FORECAST, BIKE_SHARING;
        diabetes: ENTRY;
    }
}

const UCI_LICENCE: &str = "CC BY 4.0 (UCI Machine Learning Repository)";
