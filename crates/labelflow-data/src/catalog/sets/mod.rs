//! The datasets, one file each, in a folder for what is learned from: tables with classes, images, texts, and tables with
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
        clave_direction: ENTRY;
        credit_card: ENTRY;
        statlog_satellite: ENTRY;
        phishing_websites: ENTRY;
        wine_quality: ENTRY;
    }
    images {
        fashion_mnist: DRESS_SNEAKER, SANDAL_BOOT, COAT_BAG;
        digits_planted: ENTRY;
    }
    texts {
        sst2: ENTRY;
        imdb: ENTRY;
        yelp: ENTRY;
        sms_rules: ENTRY;
    }
    values {
        air_quality: ENTRY;
        temperature_forecast: ENTRY;
        bike_sharing: ENTRY;
        diabetes: ENTRY;
    }
}

const UCI_LICENCE: &str = "CC BY 4.0 (UCI Machine Learning Repository)";
